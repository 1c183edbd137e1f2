//! Genuine responses of identity providers are accepted and yield the expected claims.

use saml_sp::{Provider, Reason};

use crate::{
    factory::{Build, field},
    valid_encrypted, valid_forms, valid_keys, valid_statements,
    world::{WORLD, enter, examined},
};

/// A response that must be accepted.
pub(crate) struct Valid {
    pub(crate) name: &'static str,
    pub(crate) xml: String,
    /// The form field, if it is not simply the base64 of `xml`.
    pub(crate) field: Option<String>,
    pub(crate) change: fn(&mut Provider),
    pub(crate) name_id: Option<&'static str>,
    pub(crate) email: &'static str,
    pub(crate) attributes: Vec<(&'static str, Vec<&'static str>)>,
    /// Why the second verifier rejects it.
    pub(crate) second_differs: Option<&'static str>,
}

impl Valid {
    /// Returns a case with the default claims.
    pub(crate) fn of(name: &'static str, xml: String) -> Self {
        Self {
            name,
            xml,
            field: None,
            change: |_| (),
            name_id: Some("ada@corp.example"),
            email: "ada@corp.example",
            attributes: vec![("displayName", vec!["Ada Lovelace"]), ("mail", vec!["ada@corp.example"])],
            second_differs: None,
        }
    }

    pub(crate) fn built(name: &'static str, build: &Build) -> Self {
        Self::of(name, build.xml())
    }

    pub(crate) fn for_provider(self, change: fn(&mut Provider)) -> Self {
        Self { change, ..self }
    }

    pub(crate) fn with_attributes(self, attributes: Vec<(&'static str, Vec<&'static str>)>) -> Self {
        Self { attributes, ..self }
    }

    /// Declares a known difference of the second verifier.
    pub(crate) fn but_second(self, differs: &'static str) -> Self {
        Self { second_differs: Some(differs), ..self }
    }

    pub(crate) fn form(&self) -> String {
        self.field.clone().unwrap_or_else(|| field(&self.xml))
    }
}

/// Returns all cases.
pub(crate) fn all() -> Vec<Valid> {
    [valid_keys::all(), valid_forms::all(), valid_statements::all(), valid_encrypted::all()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_valid_response_yields_the_expected_claims() {
    let all = all();
    assert!(all.len() >= 27, "{}", all.len());
    let mut refused = Vec::new();
    for case in &all {
        let entered = match enter(&case.form(), case.change) {
            Ok(entered) => entered,
            Err(refusal) => {
                refused.push(format!("{}: {refusal}", case.name));
                continue;
            }
        };
        assert_eq!(entered.email.as_str(), case.email, "{}", case.name);
        let claims = &entered.claims;
        assert_eq!(claims.name_id.as_ref().map(|name| name.value.as_str()), case.name_id, "{}", case.name);
        let attributes_found: Vec<_> = claims
            .attributes
            .iter()
            .map(|one| {
                (one.name.as_str(), one.values.iter().map(|value| value.as_deref().unwrap()).collect())
            })
            .collect();
        let expected: Vec<(&str, Vec<&str>)> = case.attributes.clone();
        assert_eq!(attributes_found, expected, "{}", case.name);
        assert_eq!(claims.issuer, WORLD.provider.idp.entity_id, "{}", case.name);
    }
    println!("{} valid responses", all.len());
    assert!(refused.is_empty(), "refused:\n{}", refused.join("\n"));
}

/// The C libraries have global state.
#[test]
fn many_threads_get_the_same_results() {
    let all = all();
    std::thread::scope(|scope| {
        for start in 0..8 {
            let all = &all;
            scope.spawn(move || {
                for case in all.iter().cycle().skip(start * all.len() / 8).take(all.len()) {
                    assert!(examined(&case.form(), case.change).outcome.is_ok(), "{}", case.name);
                    let changed = case.xml.replace(
                        "AuthnInstant=\"2026-03-01T11:59:50Z",
                        "AuthnInstant=\"2026-03-01T11:59:51Z",
                    );
                    if changed != case.xml {
                        let refusal = examined(&field(changed), case.change).outcome.unwrap_err();
                        assert_eq!(refusal.reason, Reason::BadDigest, "{}", case.name);
                    }
                }
            });
        }
    });
}

#[test]
fn the_answered_request_is_the_one_that_was_sent() {
    for case in all() {
        let examined = examined(&case.form(), case.change);
        assert_eq!(examined.outcome.unwrap(), WORLD.request.id, "{}", case.name);
    }
}
