//! Measurements as a table.

use std::{collections::BTreeMap, fmt::Write as _};

use xtask::sh::Result;

use crate::{cpu, load};

/// A row of the table: one measured operation.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) rates: Vec<f64>,
    pub(crate) server_micros: Vec<f64>,
    pub(crate) database_micros: Vec<f64>,
    pub(crate) p50: Vec<f64>,
    pub(crate) p99: Vec<f64>,
    pub(crate) p999: Vec<f64>,
    pub(crate) max: Vec<f64>,
}

impl Row {
    pub(crate) fn latencies(&mut self, run: &load::Run) {
        self.p50.push(run.percentile(0.5));
        self.p99.push(run.percentile(0.99));
        self.p999.push(run.percentile(0.999));
        self.max.push(run.percentile(1.0));
    }
}

impl Row {
    /// Adds a run, and the CPU time used during it.
    pub(crate) fn measure(
        &mut self,
        server: u32,
        database: Option<u32>,
        run: impl FnOnce() -> Result<load::Run>,
    ) -> Result<()> {
        let before = (cpu::seconds(server), database.map(cpu::seconds));
        let run = run()?;
        if run.unexpected > 0 {
            return Err(run.refused());
        }
        let each = |seconds: f64| seconds * 1e6 / run.answers as f64;
        self.rates.push(run.rate);
        self.server_micros.push(each(cpu::seconds(server) - before.0));
        self.database_micros
            .push(database.zip(before.1).map_or(0.0, |(pid, before)| each(cpu::seconds(pid) - before)));
        self.latencies(&run);
        Ok(())
    }
}

/// Rows by name. Names begin with the number by which rows are ordered.
pub(crate) type Table = BTreeMap<String, Row>;

/// Returns whether the row with this name is selected; an empty list selects all.
pub(crate) fn wanted(rows: &[&str], name: &str) -> bool {
    rows.is_empty() || rows.iter().any(|row| name.starts_with(row))
}

/// Returns the median.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Renders the table as Markdown. Each value is the median of its rounds.
pub(crate) fn render(table: &Table) -> String {
    let mut text = String::from(
        "| | per s | server µs of CPU | database µs of CPU | p50 ms | p99 ms | p99.9 ms | max ms |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (name, row) in table {
        let max = row.max.iter().copied().fold(0.0, f64::max);
        let _infallible = writeln!(
            text,
            "| {} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} | {max:.1} |",
            name,
            median(&row.rates),
            median(&row.server_micros),
            median(&row.database_micros),
            median(&row.p50),
            median(&row.p99),
            median(&row.p999),
        );
    }
    text
}

/// Returns the median of the ratios of two rows within the same round.
pub(crate) fn ratio(table: &Table, over: &str, under: &str) -> f64 {
    let rates = |name: &str| table.iter().find(|(key, _)| key.starts_with(name)).map(|(_, row)| &row.rates);
    let pairs = rates(over).into_iter().flatten().zip(rates(under).into_iter().flatten());
    median(&pairs.map(|(over, under)| over / under).collect::<Vec<_>>())
}

/// Returns the median of one column of a row.
pub(crate) fn column_median(table: &Table, name: &str, get: fn(&Row) -> &Vec<f64>) -> f64 {
    table.iter().find(|(key, _)| key.starts_with(name)).map_or(0.0, |(_, row)| median(get(row)))
}
