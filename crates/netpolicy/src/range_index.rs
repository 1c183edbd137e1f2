//! An index of nested ranges that finds a number by one binary search.

/// A type of number that ranges consist of.
pub(crate) trait Number: Copy + Ord {
    /// Returns the next number.
    fn next(self) -> Option<Self>;
}

impl Number for u32 {
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl Number for u128 {
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

/// All numbers, divided at the ends of ranges into intervals. `begins` has the first number of each interval,
/// `ranges` its innermost range.
#[derive(Debug, Clone)]
pub(crate) struct RangeIndex<T> {
    begins: Vec<T>,
    ranges: Vec<Option<usize>>,
}

impl<T: Number> RangeIndex<T> {
    /// Builds the index from ranges with first number, last number and name. Any two are disjoint or nested.
    pub(crate) fn of(mut ranges: Vec<(T, T, usize)>) -> Self {
        // Sort outer ranges before the ranges inside them.
        ranges.sort_unstable_by(|one, other| (one.0, other.1).cmp(&(other.0, one.1)));
        let mut stretches = Self { begins: Vec::new(), ranges: Vec::new() };
        let mut open: Vec<(T, usize)> = Vec::new();
        for (first, last, name) in ranges {
            while open.last().is_some_and(|(end, _)| *end < first) {
                stretches.close(&mut open);
            }
            stretches.begin(first, Some(name));
            open.push((last, name));
        }
        while !open.is_empty() {
            stretches.close(&mut open);
        }
        stretches
    }

    /// Ends the innermost range and continues with the one around it.
    fn close(&mut self, open: &mut Vec<(T, usize)>) {
        if let Some(after) = open.pop().and_then(|(end, _)| end.next()) {
            self.begin(after, open.last().map(|(_, name)| *name));
        }
    }

    fn begin(&mut self, at: T, range: Option<usize>) {
        if self.begins.last() == Some(&at) {
            self.ranges.pop();
        } else {
            self.begins.push(at);
        }
        self.ranges.push(range);
    }

    /// Returns the name of the innermost range that contains a number.
    pub(crate) fn find(&self, number: T) -> Option<usize> {
        let after = self.begins.partition_point(|begin| *begin <= number);
        self.ranges.get(after.checked_sub(1)?).copied().flatten()
    }
}
