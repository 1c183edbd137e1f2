//! The chart of sign-ins, drawn on the server.

use audit::{DayCount, MAX_COUNTED};

/// Height of the chart in units of its view box.
const HEIGHT: usize = 100;

/// Sign-ins and refusals per day, oldest first.
pub(super) struct Chart {
    pub(super) bars: Vec<Bar>,
    pub(super) sign_ins: usize,
    pub(super) refusals: usize,
    /// Whether a day has more entries than are counted.
    pub(super) is_capped: bool,
}

/// One day: the sign-ins below, the refusals on top of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bar {
    /// Such as `Tue 24 Nov`.
    pub(super) day: String,
    pub(super) sign_ins: usize,
    pub(super) refusals: usize,
    /// Heights and upper edges in units of the view box.
    pub(super) good: usize,
    pub(super) good_top: usize,
    pub(super) bad: usize,
    pub(super) bad_top: usize,
}

impl Chart {
    /// Draws these counts, which are of the same days.
    pub(super) fn of(sign_ins: &[DayCount], refusals: &[DayCount]) -> Self {
        let days = || sign_ins.iter().zip(refusals);
        let most = days().map(|(good, bad)| good.count + bad.count).max().unwrap_or_default().max(1);
        // A single refusal stays visible beside many sign-ins.
        let height = |count: usize| if count == 0 { 0 } else { (count * HEIGHT / most).max(2) };
        let bar = |(good, bad): (&DayCount, &DayCount)| {
            let refused = height(bad.count);
            let accepted = height(good.count).min(HEIGHT - refused);
            Bar {
                day: good.from.naive().format("%a %-d %b").to_string(),
                sign_ins: good.count,
                refusals: bad.count,
                good: accepted,
                good_top: HEIGHT - accepted,
                bad: refused,
                bad_top: HEIGHT - accepted - refused,
            }
        };
        Self {
            bars: days().map(bar).collect(),
            is_capped: days().any(|(good, bad)| good.count.max(bad.count) >= MAX_COUNTED),
            sign_ins: sign_ins.iter().map(|day| day.count).sum(),
            refusals: refusals.iter().map(|day| day.count).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::Timestamp;

    use super::*;

    fn days(counts: &[usize]) -> Vec<DayCount> {
        let start: Timestamp = "2026-11-24T00:00:00.000Z".parse().unwrap();
        counts.iter().map(|count| DayCount { from: start, to: start, count: *count }).collect()
    }

    #[test]
    fn bars_fill_the_chart_and_never_leave_it() {
        let chart = Chart::of(&days(&[0, 10_000, 3]), &days(&[0, 1, 3]));
        let heights: Vec<_> = chart.bars.iter().map(|bar| (bar.good, bar.bad)).collect();
        assert_eq!(heights, [(0, 0), (98, 2), (2, 2)]);
        assert!(chart.bars.iter().all(|bar| bar.good + bar.bad + bar.bad_top == HEIGHT));
        assert_eq!((chart.sign_ins, chart.refusals, &*chart.bars[0].day), (10_003, 4, "Tue 24 Nov"));
    }
}
