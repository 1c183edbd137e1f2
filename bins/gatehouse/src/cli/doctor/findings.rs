//! Findings of the checks.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::report::Report;

/// Time limit of each database check.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Ok,
    /// Works, but may do harm.
    Warn,
    /// Does not work.
    Fail,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

#[derive(Default)]
pub(super) struct Findings(Vec<(&'static str, Status, String)>);

impl Findings {
    pub(super) fn ok(&mut self, check: &'static str, says: impl Into<String>) {
        self.0.push((check, Status::Ok, says.into()));
    }

    pub(super) fn warn(&mut self, check: &'static str, says: impl Into<String>) {
        self.0.push((check, Status::Warn, says.into()));
    }

    pub(super) fn fail(&mut self, check: &'static str, says: impl Into<String>) {
        self.0.push((check, Status::Fail, says.into()));
    }

    /// Adds a warning per problem, or `well` if there are none.
    pub(super) fn unless(&mut self, check: &'static str, problems: Vec<String>, well: impl Into<String>) {
        if problems.is_empty() {
            self.ok(check, well);
        }
        for problem in problems {
            self.warn(check, problem);
        }
    }

    pub(super) fn report(self) -> Report {
        let failed = self.0.iter().any(|(_, status, _)| *status == Status::Fail);
        let entry = |(check, status, says): &(&str, Status, String)| json!({ "check": check, "status": status.word(), "message": says });
        let json: Vec<Value> = self.0.iter().map(entry).collect();
        let line =
            |(check, status, says): &(&str, Status, String)| format!("{:<5} {check}: {says}", status.word());
        let lines: Vec<_> = self.0.iter().map(line).collect();
        Report { json: json!({ "ok": !failed, "checks": json }), lines: lines.join("\n"), failed }
    }
}
