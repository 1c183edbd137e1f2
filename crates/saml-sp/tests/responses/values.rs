//! Many attribute values: directories often send hundreds of groups; 10,000 values are the limit.

use saml_sp::{MAX_RESPONSE, MAX_VALUES, Reason};

use crate::{
    cpu,
    factory::{BARE, Build, DEFAULT, Style, USUAL, name},
    world::enter,
};

/// The limit in milliseconds of CPU time for the largest response; higher without optimization.
const MOST_MILLIS: f64 = if cfg!(debug_assertions) { 1_500.0 } else { 250.0 };

/// Returns a signed response with `count` values in all.
fn with(style: Style, count: usize, signs_assertion: bool, signs_response: bool) -> Build {
    let p = |local: &str| name(style.saml, local);
    let value = p("AttributeValue");
    // Group ids in the form that Entra sends.
    let all: String =
        (2..count).map(|n| format!("<{value}>9f8e7d6c-0000-4000-8000-{n:012}</{value}>")).collect();
    let groups = format!("<{0} Name=\"groups\">{all}</{0}>", p("Attribute"));
    let end = format!("</{}>", p("AttributeStatement"));
    Build::signed(style, signs_assertion, signs_response).within(&end, &format!("{groups}{end}"))
}

#[test]
fn hundreds_of_groups_are_accepted() {
    for style in [USUAL, DEFAULT, BARE] {
        for (assertion, response) in [(true, false), (false, true), (true, true)] {
            let entered = enter(&with(style, 400, assertion, response).field(), |_| {}).unwrap();
            assert_eq!(entered.claims.attributes[2].values.len(), 398);
        }
    }
}

#[test]
fn ten_thousand_values_are_accepted_and_one_more_is_refused() {
    let field = with(DEFAULT, MAX_VALUES, true, true).field();
    assert!(field.len() < MAX_RESPONSE, "{}", field.len());
    let count: usize =
        enter(&field, |_| {}).unwrap().claims.attributes.iter().map(|one| one.values.len()).sum();
    assert_eq!(count, MAX_VALUES);
    let over = with(DEFAULT, MAX_VALUES + 1, true, true).field();
    assert_eq!(enter(&over, |_| {}).unwrap_err().reason, Reason::OutOfBounds);
}

#[test]
fn validation_time_is_linear_in_the_number_of_values() {
    saml_sp::warm_up();
    let cost = |count: usize| {
        let field = with(DEFAULT, count, true, true).field();
        let run = || drop(enter(&field, |_| {}).unwrap());
        run();
        (0..3).map(|_| cpu::millis(cpu::of(run))).fold(f64::MAX, f64::min)
    };
    let (some, most) = (cost(1_000), cost(MAX_VALUES));
    println!("{some:.1} ms for 1,000 values, {most:.1} ms for {MAX_VALUES}");
    assert!(most < MOST_MILLIS, "{most}");
    // For ten times the values, linear cost allows for noise up to a factor of 25; quadratic cost would be a factor
    // of 100.
    assert!(most < some * 25.0, "{some} {most}");
}
