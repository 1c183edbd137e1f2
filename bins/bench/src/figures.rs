//! Measured values and their targets. Each is printed where it is measured, and all once more as a table at the end.

use std::sync::{Mutex, PoisonError};

use crate::table::{Table, column_median, ratio};

static FIGURES: Mutex<Vec<Figure>> = Mutex::new(Vec::new());

/// The value that Gatehouse should reach.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// The value is only shown.
    None,
}

/// A measured value.
struct Figure {
    area: &'static str,
    name: String,
    value: f64,
    unit: &'static str,
    /// What the value is a ratio of.
    of: String,
    target: Target,
}

impl Target {
    /// Returns whether the value misses the target. So does a value that is not a number, such as of no response.
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "NaN is neither")]
    fn is_missed(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => !(value >= least),
            Self::AtMost(most) => !(value <= most),
            Self::None => false,
        }
    }

    fn shown(self) -> String {
        match self {
            Self::AtLeast(least) => format!("≥ {least}"),
            Self::AtMost(most) => format!("≤ {most}"),
            Self::None => String::new(),
        }
    }
}

impl Figure {
    fn value(&self) -> String {
        format!("{} {}", rounded(self.value), self.unit).trim_end().to_owned()
    }

    fn line(&self) -> String {
        let target = match self.target {
            Target::None => String::new(),
            target if target.is_missed(self.value) => format!(" (target {}: missed)", target.shown()),
            target => format!(" (target {})", target.shown()),
        };
        let of = if self.of.is_empty() { String::new() } else { format!(", {}", self.of) };
        format!("{}: {}{of}{target}", self.name, self.value())
    }

    fn row(&self) -> String {
        let value = self.value();
        let value = if self.target.is_missed(self.value) { format!("**{value}**") } else { value };
        format!("| {} | {} | {value} | {} | {} |", self.area, self.name, self.of, self.target.shown())
    }
}

/// Rounds to three digits; from 100 on, to whole numbers.
fn rounded(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The figures of one area.
#[derive(Clone, Copy)]
pub(crate) struct Area(pub(crate) &'static str);

impl Area {
    fn add(self, name: String, (value, unit): (f64, &'static str), of: String, target: Target) {
        let figure = Figure { area: self.0, name, value, unit, of, target };
        println!("{}", figure.line());
        FIGURES.lock().unwrap_or_else(PoisonError::into_inner).push(figure);
    }

    /// Prints and keeps a value that should be at least the target.
    pub(crate) fn at_least(self, name: impl Into<String>, value: f64, unit: &'static str, target: f64) {
        self.add(name.into(), (value, unit), String::new(), Target::AtLeast(target));
    }

    /// Prints and keeps a value that should be at most the target.
    pub(crate) fn at_most(self, name: impl Into<String>, value: f64, unit: &'static str, target: f64) {
        self.add(name.into(), (value, unit), String::new(), Target::AtMost(target));
    }

    /// Prints and keeps a value without a target.
    pub(crate) fn shown(self, name: impl Into<String>, value: f64, unit: &'static str) {
        self.add(name.into(), (value, unit), String::new(), Target::None);
    }

    /// Prints and keeps the ratio of two rows' rates. Does nothing if one of them was not measured.
    pub(crate) fn ratio(
        self,
        table: &Table,
        name: impl Into<String>,
        (over, under): (&str, &str),
        target: Target,
    ) {
        let rate = |row: &str| column_median(table, row, |row| &row.rates);
        if rate(over) == 0.0 || rate(under) == 0.0 {
            return;
        }
        let of = format!("{:.0} and {:.0} per s", rate(over), rate(under));
        self.add(name.into(), (ratio(table, over, under), ""), of, target);
    }
}

/// Returns all figures as a Markdown table; `None` if nothing was measured.
pub(crate) fn summary() -> Option<String> {
    let figures = FIGURES.lock().unwrap_or_else(PoisonError::into_inner);
    let rows: Vec<_> = figures.iter().map(Figure::row).collect();
    let head = "| Area | Measured | Value | Compared rates | Target |\n|---|---|---|---|---|";
    (!rows.is_empty()).then(|| format!("{head}\n{}", rows.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::{Figure, Target};

    #[test]
    fn missed_targets_are_marked() {
        let figure = |value, target| Figure {
            area: "path",
            name: "get by ID".into(),
            value,
            unit: "ms",
            of: String::new(),
            target,
        };
        assert_eq!(figure(2.0, Target::AtMost(1.0)).row(), "| path | get by ID | **2.00 ms** |  | ≤ 1 |");
        assert_eq!(figure(2.0, Target::AtLeast(1.0)).row(), "| path | get by ID | 2.00 ms |  | ≥ 1 |");
        assert_eq!(figure(0.5, Target::AtLeast(1.0)).line(), "get by ID: 0.50 ms (target ≥ 1: missed)");
        assert!(Target::AtLeast(1.0).is_missed(f64::NAN) && Target::AtMost(1.0).is_missed(f64::NAN));
        assert_eq!(figure(1234.5, Target::None).line(), "get by ID: 1234 ms");
    }
}
