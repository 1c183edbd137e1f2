//! The retry schedule of failed deliveries.

use kernel::{Env, Timestamp};

/// Milliseconds between attempts: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h. After the last, the delivery has failed.
pub const STEPS: [i64; 7] = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000];

/// Milliseconds without a success after which a subscription is disabled: five days.
pub const PATIENCE: i64 = 5 * 24 * 3_600_000;

/// Milliseconds without a success after which administrators are notified: one hour, and again a day before the subscription
/// is disabled.
pub const NOTICES: [i64; 2] = [3_600_000, PATIENCE - 24 * 3_600_000];

/// Returns whether administrators have to be notified now of failures since `since`. They were notified last at `told`.
pub fn is_notice_due(since: Timestamp, told: Option<Timestamp>, now: Timestamp) -> bool {
    NOTICES.iter().any(|after| {
        let due = since.plus_millis(*after);
        due <= now && told.is_none_or(|told| told < due)
    })
}

/// Returns when attempt `number` (from 1), which failed at `now`, is retried; `None` after the last attempt.
///
/// Each delay is randomized by up to a fifth, to spread deliveries that failed together. A receiver may request a
/// longer delay with `Retry-After` (seconds or an HTTP date), up to twice the step.
pub fn next_attempt(
    env: &dyn Env,
    number: u32,
    retry_after: Option<&str>,
    now: Timestamp,
) -> Option<Timestamp> {
    let step = *STEPS.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
    let mut random = [0; 4];
    env.fill(&mut random);
    let spread = 2 * step / 5;
    let usual = step - step / 5 + i64::from(u32::from_le_bytes(random)) % (spread + 1);
    let asked = retry_after.and_then(|text| requested_delay(text, now)).unwrap_or(0).min(2 * step);
    Some(now.plus_millis(usual.max(asked)))
}

/// Returns the delay in milliseconds that `Retry-After` (RFC 9110 §10.2.3) requests.
fn requested_delay(text: &str, now: Timestamp) -> Option<i64> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(1000));
    }
    let date = Timestamp::from_http_date(text)?;
    Some((date.unix_millis() - now.unix_millis()).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ManualEnv;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn administrators_are_told_after_an_hour_and_a_day_before_the_end() {
        let since = at("2026-01-10T00:00:00.000Z");
        for (now, told, expected) in [
            ("2026-01-10T00:59:59.999Z", None, false),
            ("2026-01-10T01:00:00.000Z", None, true),
            ("2026-01-10T01:00:00.000Z", Some("2026-01-09T23:00:00.000Z"), true),
            ("2026-01-10T02:00:00.000Z", Some("2026-01-10T01:00:00.000Z"), false),
            ("2026-01-13T23:59:59.999Z", Some("2026-01-10T01:00:30.000Z"), false),
            ("2026-01-14T00:00:00.000Z", Some("2026-01-10T01:00:30.000Z"), true),
            ("2026-01-14T12:00:00.000Z", Some("2026-01-14T00:00:30.000Z"), false),
        ] {
            assert_eq!(is_notice_due(since, told.map(at), at(now)), expected, "{now}, told {told:?}");
        }
    }

    #[test]
    fn retry_delays_are_randomized_by_a_fifth_and_end() {
        let now = at("2026-01-01T00:00:00.000Z");
        let env = ManualEnv::at(now);
        for (number, step) in (1..).zip(STEPS) {
            let waits: Vec<i64> = (0..500)
                .map(|_| next_attempt(&env, number, None, now).unwrap().unix_millis() - now.unix_millis())
                .collect();
            let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
            assert!(*least >= step * 4 / 5 && *most <= step * 6 / 5, "{number}: {least} to {most}");
            assert!(*least < step * 85 / 100 && *most > step * 115 / 100, "{number}: {least} to {most}");
        }
        assert_eq!(next_attempt(&env, 8, None, now), None);
        assert_eq!(next_attempt(&env, 0, None, now), None, "attempts count from 1");
    }

    /// Random bytes that are this number.
    struct Fixed(u32);

    impl Env for Fixed {
        fn now(&self) -> Timestamp {
            at("2026-01-01T00:00:00.000Z")
        }

        fn fill(&self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.0.to_le_bytes());
        }
    }

    #[test]
    fn shortest_and_longest_delay_are_a_fifth_from_the_step() {
        let now = at("2026-01-01T00:00:00.000Z");
        for (random, millis) in [(0, 4_000), (1, 4_001), (2_000, 6_000), (2_001, 4_000)] {
            assert_eq!(next_attempt(&Fixed(random), 1, None, now), Some(now.plus_millis(millis)));
        }
    }

    #[test]
    fn retry_after_is_honored_up_to_twice_the_step() {
        let now = at("2026-01-01T00:00:00.000Z");
        let env = ManualEnv::at(now);
        let wait = |number, text| {
            next_attempt(&env, number, Some(text), now).unwrap().unix_millis() - now.unix_millis()
        };
        assert_eq!(wait(1, "8"), 8_000);
        assert_eq!(wait(1, "3600"), 10_000);
        assert_eq!(wait(1, "99999999999999999999"), 10_000);
        assert_eq!(wait(2, "Thu, 01 Jan 2026 00:08:00 GMT"), 480_000);
        for nothing in ["", "0", "-5", "soon", "Wed, 31 Dec 2025 23:00:00 GMT"] {
            assert!((4_000..=6_000).contains(&wait(1, nothing)), "{nothing}");
        }
    }
}
