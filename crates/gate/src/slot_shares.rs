//! Counts the slots that each caller holds, so that one caller's requests do not get the requests of others rejected.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use actix_web::http::header::{AUTHORIZATION, COOKIE, HeaderMap};

/// Identifies a caller before its credential is checked: a keyed hash of the credential, or else of the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallerKey(pub(crate) u64);

/// The slots of each caller.
#[derive(Default)]
pub(crate) struct SlotShares {
    hasher: RandomState,
    held: Mutex<HashMap<CallerKey, usize>>,
}

impl SlotShares {
    /// Returns the key of a request's caller.
    pub(crate) fn caller(&self, headers: &HeaderMap, ip: Option<IpAddr>) -> CallerKey {
        let credential = headers.get(AUTHORIZATION).or_else(|| headers.get(COOKIE));
        CallerKey(match credential {
            Some(credential) => self.hasher.hash_one(credential.as_bytes()),
            None => self.hasher.hash_one(ip),
        })
    }

    /// Records that a caller took a slot.
    pub(crate) fn take(&self, caller: CallerKey) {
        *self.lock().entry(caller).or_default() += 1;
    }

    /// Records that a caller released a slot.
    pub(crate) fn release(&self, caller: CallerKey) {
        let mut held = self.lock();
        if let Some(slots) = held.get_mut(&caller) {
            *slots -= 1;
            if *slots == 0 {
                held.remove(&caller);
            }
        }
    }

    /// Returns whether a caller holds no slot while another one holds more than half of them.
    pub(crate) fn are_unfair_to(&self, caller: CallerKey) -> bool {
        let held = self.lock();
        let (all, most) = held.values().fold((0, 0), |(all, most), slots| (all + slots, *slots.max(&most)));
        !held.contains_key(&caller) && most * 2 > all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallerKey, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use actix_web::http::header::HeaderValue;

    use super::*;

    #[test]
    fn caller_is_the_credential_or_else_the_address() {
        let (shares, mut headers) = (SlotShares::default(), HeaderMap::new());
        let at = |last| Some(IpAddr::from(Ipv4Addr::new(192, 0, 2, last)));
        let anonymous = shares.caller(&headers, at(1));
        assert_ne!(anonymous, shares.caller(&headers, at(2)));
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer one"));
        let one = shares.caller(&headers, at(1));
        assert_ne!(one, anonymous);
        assert_eq!(one, shares.caller(&headers, at(2)));
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer two"));
        assert_ne!(one, shares.caller(&headers, at(1)));
    }

    #[test]
    fn only_a_caller_without_a_slot_is_crowded_out() {
        let shares = SlotShares::default();
        let [busy, idle, third] = [CallerKey(1), CallerKey(2), CallerKey(3)];
        assert!(!shares.are_unfair_to(idle), "nobody holds a slot");
        shares.take(busy);
        shares.take(busy);
        shares.take(third);
        assert!(shares.are_unfair_to(idle));
        assert!(!shares.are_unfair_to(third));
        shares.release(busy);
        assert!(!shares.are_unfair_to(idle), "each holds one");
        shares.release(third);
        shares.release(busy);
        assert!(shares.lock().is_empty());
    }
}
