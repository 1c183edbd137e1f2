//! Nested ranges, found by a number in one binary search.

/// A number that ranges are of.
pub(crate) trait Number: Copy + Ord {
    /// The one after it.
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

/// All numbers in order, cut wherever a range begins or ends: where each stretch begins, and the innermost range it
/// is of.
#[derive(Debug, Clone)]
pub(crate) struct RangeIndex<T> {
    begins: Vec<T>,
    ranges: Vec<Option<usize>>,
}

impl<T: Number> RangeIndex<T> {
    /// Of ranges from a first to a last number, each with a name, of which any two are apart or one in the other.
    pub(crate) fn of(mut ranges: Vec<(T, T, usize)>) -> Self {
        // An outer range comes before what is in it.
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

    /// After the innermost range goes on what it is in.
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

    /// The name of the innermost range that a number is in.
    pub(crate) fn find(&self, number: T) -> Option<usize> {
        let after = self.begins.partition_point(|begin| *begin <= number);
        self.ranges.get(after.checked_sub(1)?).copied().flatten()
    }
}
