//! Differential test: both verifiers agree, for every document of these tests, on validity and on the signed
//! identity.

use saml_sp::{Examined, Step};

use crate::{
    hostile,
    second::{Identity, Second, has_odd_namespace},
    valid,
    world::{WORLD, examined},
};

/// The first verifier's result for a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// Rejected for its structure or because it cannot be decrypted; the signatures were not checked.
    NotAsked,
    /// The signatures are valid for this identity, or invalid.
    Asked(Option<Identity>),
}

impl First {
    pub(crate) fn of(examined: &Examined) -> Self {
        let reached = |step: Step| examined.passed.contains(&step);
        let refused_at = examined.outcome.as_ref().err().map(saml_sp::Refusal::step);
        match &examined.claims {
            Some(claims) => Self::Asked(Some(Identity::of(claims.get()))),
            None if reached(Step::Status) && refused_at == Some(Step::Signature) => Self::Asked(None),
            None => Self::NotAsked,
        }
    }
}

#[test]
fn both_verifiers_accept_valid_responses_except_known_differences() {
    let second = Second::new(&WORLD.provider);
    let mut known = Vec::new();
    for case in valid::all() {
        let first = First::of(&examined(&case.form(), case.change));
        let First::Asked(Some(identity)) = first else { panic!("{}: {first:?}", case.name) };
        let believed = second.believes(case.xml.trim_start_matches('\u{feff}'));
        match case.second_differs {
            None => assert_eq!(believed, Ok(Some(identity)), "{}", case.name),
            Some(why) => {
                assert_eq!(
                    believed,
                    Ok(None),
                    "{}: the verifiers agree now, remove this known difference: {why}",
                    case.name
                );
                known.push(format!("{}: {why}", case.name));
            }
        }
    }
    println!("known differences:\n{}", known.join("\n"));
}

#[test]
fn both_verifiers_agree_on_hostile_responses() {
    let second = Second::new(&WORLD.provider);
    let (mut compared, mut authentic, mut odd) = (0, 0, 0);
    for (family, case) in
        hostile::ALL.iter().flat_map(|(family, cases)| cases.iter().map(move |case| (family, case)))
    {
        let Some(xml) = &case.xml else { continue };
        // The second verifier needs this case's pinned certificates.
        let mut provider = WORLD.provider.clone();
        (case.change)(&mut provider);
        let other;
        let second = if provider.idp == WORLD.provider.idp {
            &second
        } else {
            other = Second::new(&provider);
            &other
        };
        let First::Asked(first) = First::of(&examined(&case.field, case.change)) else { continue };
        compared += 1;
        authentic += usize::from(first.is_some());
        let believed = second.believes(xml);
        if first.is_none() && believed != Ok(None) && has_odd_namespace(xml) {
            odd += 1;
            continue;
        }
        assert_eq!(believed, Ok(first), "{family}: {}", case.name);
    }
    println!(
        "{compared} hostile responses compared; {authentic} have valid signatures and are refused for their content; \
         {odd} have namespaces outside canonical XML"
    );
    assert!(compared > 150 && authentic > 100, "{compared}, {authentic}");
}
