//! `gatehouse reference`: pages of the reference that follow from the code.
//!
//! `docs/reference/` holds what this prints; a test compares them.

use std::fmt::Write as _;

use clap::ValueEnum;
use gate::{errors::Code, meter, metric::Metric};
use serde_json::{Value, json};
use tokens::removals::RemovalLimit;

use super::report::Report;
use crate::{
    area_metrics,
    config::{KEYS, PREFIX},
};

/// A generated page of the reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Page {
    /// Settings of the server
    Settings,
    /// Commands and their options
    Cli,
    /// Error codes of the API
    Errors,
    /// Audit events, which webhooks deliver
    Events,
    /// Metrics at /metrics
    Metrics,
    /// Limits of requests and tenants
    Limits,
}

pub(super) fn run(page: Page, command: clap::Command) -> Report {
    let text = match page {
        Page::Settings => settings(),
        Page::Cli => commands(command),
        Page::Errors => errors(),
        Page::Events => events(),
        Page::Metrics => metrics(),
        Page::Limits => limits(),
    };
    let text = text.trim_end().to_owned();
    Report::new(json!({ "markdown": text }), text)
}

fn settings() -> String {
    let mut text = include_str!("reference/settings.md").to_owned();
    text.push_str("| Setting | Default | Description |\n|---|---|---|\n");
    for key in KEYS {
        row(&mut text, &[&format!("`{}`", key.name), key.default, key.help]);
    }
    let _infallible = writeln!(text, "\nThe variable of `bind` is `{PREFIX}BIND`, and so on.");
    text
}

fn commands(mut all: clap::Command) -> String {
    let mut text = include_str!("reference/cli.md").to_owned();
    all.build();
    let shared: Vec<_> = all.get_arguments().filter(|option| option.is_global_set()).cloned().collect();
    text.push_str("## Options of every command\n\n");
    options(&mut text, &shared);
    describe(&mut text, &all, &[]);
    text
}

/// Describes the commands below `command`, each under its full name.
fn describe(text: &mut String, command: &clap::Command, before: &[&str]) {
    let path = [before, &[command.get_name()]].concat();
    let subcommands: Vec<_> = command.get_subcommands().filter(|one| one.get_name() != "help").collect();
    if subcommands.is_empty() {
        let about =
            command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
        let stop = if about.ends_with('.') { "" } else { "." };
        let example = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples: Vec<_> = example.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        let _infallible =
            write!(text, "\n## {}\n\n{about}{stop}\n\n```sh\n{}\n```\n", path.join(" "), examples.join("\n"));
        let own = command.get_arguments().filter(|one| !one.is_global_set() && one.get_id() != "help");
        let own: Vec<_> = own.cloned().collect();
        if !own.is_empty() {
            text.push('\n');
            options(text, &own);
        }
    }
    for one in subcommands {
        describe(text, one, &path);
    }
}

fn options(text: &mut String, options: &[clap::Arg]) {
    text.push_str("| Option | Description |\n|---|---|\n");
    for option in options.iter().filter(|option| option.get_id() != "help" && option.get_id() != "version") {
        let mut help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let values: Vec<_> =
            option.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
        if !values.is_empty() && option.get_action().takes_values() {
            let _infallible = write!(help, ": {}", values.join(", "));
        }
        let defaults: Vec<_> =
            option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !defaults.is_empty() && option.get_action().takes_values() {
            let _infallible = write!(help, ". Default: `{}`", defaults.join(","));
        }
        let is_needed = option.is_required_set();
        row(
            text,
            &[
                &format!("`{}`", spelling(option)),
                &(if is_needed { format!("{help}. Required") } else { help }),
            ],
        );
    }
}

/// Spells an option as it is typed.
fn spelling(option: &clap::Arg) -> String {
    let value = option.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let value = value.unwrap_or_else(|| option.get_id().as_str().to_ascii_uppercase());
    match option.get_long() {
        Some(long) if option.get_action().takes_values() => format!("--{long} {value}"),
        Some(long) => format!("--{long}"),
        None => value,
    }
}

fn errors() -> String {
    let mut text = include_str!("reference/errors.md").to_owned();
    text.push_str("| Code | Status | Meaning |\n|---|---|---|\n");
    for code in Code::ALL {
        row(
            &mut text,
            &[&format!("`{}`", code.as_str()), &code.status().as_u16().to_string(), code.meaning()],
        );
    }
    text
}

fn events() -> String {
    let mut text = include_str!("reference/events.md").to_owned();
    let catalog = audit::events::catalog();
    let specs = catalog.specs();
    let mut types: Vec<_> = specs.iter().map(|spec| spec.resource_type).collect();
    types.sort_unstable();
    types.dedup();
    for resource_type in types {
        let _infallible =
            write!(text, "## {resource_type}\n\n| Event | Description | Metadata |\n|---|---|---|\n");
        for spec in specs.iter().filter(|spec| spec.resource_type == resource_type) {
            row(&mut text, &[&format!("`{}`", spec.code), spec.description, &members(&json!(spec.schema))]);
        }
        text.push('\n');
    }
    text
}

/// Names the members of an event's `data` by its JSON Schema.
fn members(schema: &Value) -> String {
    let properties = schema.pointer("/properties/data/properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|properties| properties.keys());
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn metrics() -> String {
    let mut text = include_str!("reference/metrics.md").to_owned();
    text.push_str("| Metric | Type | Description |\n|---|---|---|\n");
    let mut all: Vec<&Metric> = meter::server_metrics().iter().chain(area_metrics::METRICS).collect();
    all.sort_by_key(|metric| metric.name);
    for metric in all {
        row(&mut text, &[&format!("`{}`", metric.name), metric.kind.as_str(), metric.help]);
    }
    text
}

fn row(text: &mut String, cells: &[&str]) {
    let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let _infallible = writeln!(text, "| {} |", cells.join(" | "));
}

fn limits() -> String {
    let values: [(&str, u64); 36] = [
        ("network_rules", netpolicy::MAX_RULES as u64),
        ("log_streams", log_streams::MAX_STREAMS as u64),
        ("receivers", signals::MAX_RECEIVERS as u64),
        ("transmitters", signals::MAX_TRANSMITTERS as u64),
        ("removed_subjects", signals::MAX_REMOVED_SUBJECTS.unsigned_abs()),
        ("sso_connections", saml_sp::MAX_PROVIDERS as u64),
        ("domains", saml_sp::MAX_DOMAINS as u64),
        ("certificates", saml_sp::MAX_CERTIFICATES as u64),
        ("roles", directory::MAX_ROLES as u64),
        ("rules", directory::MAX_RULES as u64),
        ("groups", directory::CLAIMED_GROUPS_MAX as u64),
        ("group_length", directory::CLAIMED_GROUP_MAX as u64),
        ("webhooks", webhooks::MAX_SUBSCRIPTIONS as u64),
        ("filters", webhooks::MAX_FILTERS as u64),
        ("models", attestation::MAX_MODELS as u64),
        ("replayed", store::MAX_REPLAYED as u64),
        ("scanned", audit::MAX_SCANNED as u64),
        ("ticket_minutes", credentials::TICKET_MINUTES.unsigned_abs()),
        ("ticket_answers", credentials::MAX_WRONG_ANSWERS.unsigned_abs()),
        ("wrong_codes", credentials::attempts::MAX_WRONG_CODES.unsigned_abs()),
        ("challenge_minutes", stepup::CHALLENGE_MINUTES.unsigned_abs()),
        ("challenge_answers", stepup::MAX_WRONG_ANSWERS.unsigned_abs()),
        ("challenges", stepup::MAX_LIVE.unsigned_abs()),
        ("factors", credentials::MAX_FACTORS as u64),
        ("recovery_codes", credentials::recovery::COUNT as u64),
        ("tokens", tokens::pat::MAX_TOKENS as u64),
        ("token_days", tokens::pat::MAX_DAYS.unsigned_abs()),
        ("dry_run_changes", crate::api::MAX_CHANGES as u64),
        ("removal_users", RemovalLimit::default().users.into()),
        ("removal_percent", RemovalLimit::default().percent.into()),
        ("scim_count", scim_core::DEFAULT_COUNT.into()),
        ("scim_max_count", scim_core::MAX_COUNT.into()),
        ("filter_terms", scim_core::filter::MAX_TERMS as u64),
        ("filter_value_terms", scim_core::filter::MAX_VALUE_TERMS as u64),
        ("filter_depth", scim_core::filter::MAX_DEPTH as u64),
        ("memberships", scim_core::MAX_MEMBERSHIPS.into()),
    ];
    let replace =
        |text: String, (name, value): &(&str, u64)| text.replace(&format!("{{{name}}}"), &grouped(*value));
    values.iter().fold(include_str!("reference/limits.md").to_owned(), replace)
}

/// Formats a number with a comma between thousands.
fn grouped(value: u64) -> String {
    if value < 1000 { value.to_string() } else { format!("{},{:03}", grouped(value / 1000), value % 1000) }
}
