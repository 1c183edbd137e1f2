//! Limits of concurrency and rate, and turns.

use super::*;

#[test]
fn a_lane_over_its_rate_is_sent_later() {
    let rate = NonZeroU32::new(2);
    let mut desk = Desk::new(Limits { rate, ..many() });
    let key = desk.key(&desk.tenant());
    desk.filled(&key, 4, false);
    assert_eq!(desk.send_all().len(), 2);
    let later = desk.schedule.next_later().unwrap();
    assert_eq!(later, desk.now + SECOND / 2);
    desk.pass(Duration::from_millis(499));
    desk.schedule.wake_due_lanes(desk.now);
    assert!(desk.send().is_none());
    assert_eq!(desk.schedule.next_later(), Some(later));
    desk.pass(Duration::from_millis(1));
    desk.schedule.wake_due_lanes(desk.now);
    assert_eq!(desk.send_all().len(), 1);
    desk.pass(SECOND);
    desk.schedule.wake_due_lanes(desk.now);
    assert_eq!((desk.send_all().len(), desk.schedule.next_later()), (1, None));
}

#[test]
fn tenants_take_turns_and_so_do_their_subscriptions() {
    let mut desk = Desk::new(many());
    let (large, small) = (desk.tenant(), desk.tenant());
    let keys = [desk.key(&large), desk.key(&large), desk.key(&small)];
    for key in &keys {
        desk.filled(key, 4, false);
    }
    let order: Vec<_> = desk.send_all().into_iter().map(|sent| sent.key).collect();
    let numbers = order.iter().map(|key| keys.iter().position(|known| known == key).unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), [0, 2, 1, 2, 0, 2, 1, 2, 0, 1, 0, 1]);
}

#[test]
fn limits_of_a_tenant_and_in_all_are_used_up_and_not_passed() {
    let mut desk = Desk::new(Limits { subscription: 4, tenant: 6, total: 10, rate: None });
    let tenants = [desk.tenant(), desk.tenant()];
    let keys: Vec<_> = tenants.iter().flat_map(|tenant| [desk.key(tenant), desk.key(tenant)]).collect();
    for key in &keys {
        desk.filled(key, 5, false);
    }
    let sent = desk.send_all();
    // Eight of ten: a fifth is left to retries.
    assert_eq!((sent.len(), desk.schedule.in_flight()), (8, 8));
    let of = |sent: &[SendInProgress], tenant: &TenantId| {
        sent.iter().filter(|one| one.key.tenant == *tenant).count()
    };
    assert_eq!(tenants.each_ref().map(|tenant| of(&sent, tenant)), [4, 4]);
    let retried = desk.key(&tenants[0]);
    desk.filled_with_retries(&retried, 5);
    let more = desk.send_all();
    assert!(more.iter().all(|one| one.key == retried));
    assert_eq!((more.len(), desk.schedule.in_flight()), (2, 10), "six of the tenant, ten in all");
    // What ends makes room for one of the same tenant, whose limit is reached too, or of another.
    desk.done(&more[0]);
    assert_eq!((desk.send_all().len(), desk.schedule.in_flight()), (1, 10));
}

#[test]
fn the_limit_of_a_tenant_holds_across_its_lanes_and_cleaning() {
    let mut desk = Desk::new(Limits { tenant: 3, ..many() });
    let tenant = desk.tenant();
    let keys = [desk.key(&tenant), desk.key(&tenant), desk.key(&tenant)];
    desk.filled(&keys[0], 2, false);
    desk.filled(&keys[1], 3, false);
    let sent = desk.send_all();
    assert_eq!(sent.len(), 3);
    desk.schedule.release_idle_lanes(desk.now);
    assert!(desk.send().is_none());
    desk.done(&sent[0]);
    assert_eq!(desk.send_all().len(), 1);
    desk.done(&sent[1]);
    assert_eq!(desk.send_all().len(), 1, "the last that is ready");
    desk.schedule.release_idle_lanes(desk.now);
    desk.filled(&keys[2], 1, false);
    assert!(desk.send().is_none(), "three are in flight");
}

#[test]
fn a_tenant_with_nothing_to_send_is_forgotten() {
    let mut desk = Desk::new(many());
    let key = desk.key(&desk.tenant());
    desk.filled(&key, 1, false);
    desk.schedule.release_idle_lanes(desk.now);
    assert_eq!(desk.schedule.tenants.len(), 1);
    desk.pass(STALE + SECOND);
    assert!(desk.send().is_none(), "it has to be read again");
    desk.schedule.release_idle_lanes(desk.now);
    assert_eq!(desk.schedule.tenants.len(), 0);
}

#[test]
fn a_lane_without_room_is_sent_when_another_is_done() {
    let mut desk = Desk::new(Limits { total: 10, ..many() });
    let tenant = desk.tenant();
    let [first, second] = [desk.key(&tenant), desk.key(&tenant)];
    desk.filled_with_retries(&first, 8);
    let sent = desk.send_all();
    assert_eq!(sent.len(), 8);
    desk.filled_with_retries(&second, 1);
    assert!(desk.send().is_none());
    desk.done(&sent[0]);
    assert!(desk.send().is_some_and(|one| one.key == second));
}

#[test]
fn first_attempts_and_retries_have_a_fifth_of_their_own() {
    let mut desk = Desk::new(Limits { total: 10, ..many() });
    let tenant = desk.tenant();
    let [first, second] = [desk.key(&tenant), desk.key(&tenant)];
    desk.filled_with_retries(&first, 10);
    assert_eq!(desk.send_all().len(), 8);
    desk.filled(&second, 10, false);
    assert_eq!(desk.send_all().len(), 2);
    assert_eq!((desk.schedule.retries, desk.schedule.fresh), (8, 2));
}
