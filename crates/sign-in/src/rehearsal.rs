//! Answers whether a user could sign in, without signing in.
//!
//! The rules are those of a real sign-in, in the same order: account, sign-in mode, credential, network policy, second
//! factor. What only the user knows, the password and the codes, counts as right.

use std::net::IpAddr;

use credentials::{Factor, FactorKind, FactorStore, SignInPolicy, SignInStore, attempts::MAX_WRONG_CODES};
use directory::{PeopleStore, Person};
use kernel::StoreResult;
use netpolicy::NetworkPolicyStore;

use crate::{
    factor::FactorName,
    network,
    refusal::Refusal,
    state::{Requirements, State, Step, check_mode, next},
};

/// The first step of a rehearsed sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Email address and password.
    Password,
    /// A passkey alone.
    Passkey,
    /// The identity provider of the user's email domain.
    Sso,
}

/// A sign-in to rehearse.
#[derive(Debug, Clone)]
pub struct Rehearsal {
    /// The first step.
    pub way: Way,
    /// The second factor that the user tries, if one is requested.
    pub factor: Option<FactorName>,
    /// The address of the user.
    pub ip: Option<IpAddr>,
    /// Whether a working SSO connection covers the user's address.
    pub has_sso: bool,
}

/// The result of a rehearsal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rehearsed {
    /// The user is signed in.
    SignedIn,
    /// The user is signed in once a second factor is given.
    NeedsFactor,
    /// The user has to enrol a second factor first.
    MustEnrol,
    /// The user is refused.
    Refused(Refusal),
}

/// Rehearses a sign-in of this person.
pub async fn rehearse<S>(store: &mut S, person: &Person, rehearsal: &Rehearsal) -> StoreResult<Rehearsed>
where
    S: SignInStore + FactorStore + NetworkPolicyStore + PeopleStore,
{
    let policy = store.sign_in_policy().await?;
    let mut factors = store.factors(&person.id).await?;
    factors.retain(Factor::is_verified);
    let kinds: Vec<FactorKind> = factors.iter().map(Factor::kind).collect();
    let has_password = person.email.is_some() && store.password(&person.id).await?.is_some();
    if let Some(refusal) = first_step(person, &policy, rehearsal, has_password, &kinds) {
        return Ok(Rehearsed::Refused(refusal));
    }
    if !network::allows(store, rehearsal.ip, person).await? {
        return Ok(Rehearsed::Refused(Refusal::NetworkBlocked));
    }
    let mut requirements = Requirements::of_policy(&policy, person.break_glass);
    requirements.verified = kinds;
    requirements.unused_codes = store.unused_codes(&person.id).await?;
    let takes_codes = store.wrong_codes(&person.id).await? < MAX_WRONG_CODES;
    Ok(second_step(rehearsal, &requirements, takes_codes))
}

/// Returns why the first step is refused, except by the network policy.
fn first_step(
    person: &Person,
    policy: &SignInPolicy,
    rehearsal: &Rehearsal,
    has_password: bool,
    factors: &[FactorKind],
) -> Option<Refusal> {
    if !person.active {
        return Some(Refusal::AccountDisabled);
    }
    let missing = match rehearsal.way {
        Way::Password => (!has_password).then_some(Refusal::NoPassword),
        Way::Passkey => (!factors.contains(&FactorKind::Webauthn)).then_some(Refusal::NoPasskey),
        Way::Sso => (!rehearsal.has_sso).then_some(Refusal::NoConnection),
    };
    match (check_mode(rehearsal.way.step(), policy.sign_in_mode, person.break_glass), rehearsal.way) {
        (Err(_), Way::Sso) => Some(Refusal::SsoNotAllowed),
        (Err(_), _) => Some(Refusal::SsoRequired),
        (Ok(()), _) => missing,
    }
}

/// Returns the result after the first step, by the state machine of sign-ins.
fn second_step(rehearsal: &Rehearsal, requirements: &Requirements, takes_codes: bool) -> Rehearsed {
    let state = next(State::Anonymous, rehearsal.way.step(), requirements);
    let state = match (state, rehearsal.factor) {
        (Ok(State::FactorOwed), None) => return Rehearsed::NeedsFactor,
        (Ok(State::FactorOwed), Some(name)) => {
            let has_it = match name.kind() {
                Some(kind) => requirements.verified.contains(&kind),
                None => requirements.unused_codes > 0,
            };
            if !has_it {
                return Rehearsed::Refused(Refusal::NoFactor);
            }
            if name != FactorName::Webauthn && !takes_codes {
                return Rehearsed::Refused(Refusal::TooManyWrongCodes);
            }
            next(State::FactorOwed, Step::Factor(name), requirements)
        }
        (state, _) => state,
    };
    match state {
        Ok(State::SignedIn | State::Grace) => Rehearsed::SignedIn,
        Ok(_) => Rehearsed::MustEnrol,
        Err(_) => Rehearsed::Refused(Refusal::FactorNotAccepted),
    }
}

impl Way {
    fn step(self) -> Step {
        match self {
            Self::Password => Step::Password,
            Self::Passkey => Step::Passkey,
            Self::Sso => Step::IdentityProvider,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use credentials::{FactorData, FactorId, SignInMode};
    use directory::{NewPerson, Role, create_person};
    use kernel::{Actor, Ctx, ManualEnv, TenantId};

    use super::*;
    use crate::MemoryStore;

    const NOWHERE: Rehearsal = Rehearsal { way: Way::Password, factor: None, ip: None, has_sso: false };

    /// Changes the policy.
    async fn set(store: &mut MemoryStore, change: impl FnOnce(&mut SignInPolicy)) {
        let mut policy = store.sign_in_policy().await.unwrap();
        change(&mut policy);
        store.set_sign_in_policy(&policy).await.unwrap();
    }

    #[tokio::test]
    async fn rehearsal_names_the_first_rule_that_refuses() {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let ctx = Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test"));
        let mut store = MemoryStore::new(&ctx.tenant);
        let new =
            NewPerson { email: "ada@example.com".parse().unwrap(), role: Role::Member, display_name: None };
        let ada = create_person(&ctx, &mut store, new).await.unwrap();
        let refused = Rehearsed::Refused;
        let sso = Rehearsal { way: Way::Sso, has_sso: true, ..NOWHERE };
        let with = |factor| Rehearsal { factor: Some(factor), ..NOWHERE };

        let gone = Person { active: false, ..ada.clone() };
        assert_eq!(rehearse(&mut store, &gone, &NOWHERE).await.unwrap(), refused(Refusal::AccountDisabled));
        assert_eq!(rehearse(&mut store, &ada, &NOWHERE).await.unwrap(), refused(Refusal::NoPassword));
        let passkey = Rehearsal { way: Way::Passkey, ..NOWHERE };
        assert_eq!(rehearse(&mut store, &ada, &passkey).await.unwrap(), refused(Refusal::NoPasskey));
        let uncovered = Rehearsal { has_sso: false, ..sso.clone() };
        assert_eq!(rehearse(&mut store, &ada, &uncovered).await.unwrap(), refused(Refusal::NoConnection));
        assert_eq!(rehearse(&mut store, &ada, &sso).await.unwrap(), Rehearsed::SignedIn);
        store.set_password(&ada.id, "hash", ctx.now).await.unwrap();
        assert_eq!(rehearse(&mut store, &ada, &NOWHERE).await.unwrap(), Rehearsed::SignedIn);

        set(&mut store, |policy| policy.mfa.required = true).await;
        assert_eq!(rehearse(&mut store, &ada, &NOWHERE).await.unwrap(), Rehearsed::MustEnrol);
        let factor = Factor {
            id: FactorId::new(&*env),
            user: ada.id.clone(),
            name: "app".into(),
            created_at: ctx.now,
            verified_at: Some(ctx.now),
            last_used_at: None,
            data: FactorData::Totp { sealed: vec![1], last_step: 0 },
        };
        assert!(store.insert_factor(&factor).await.unwrap());
        assert_eq!(rehearse(&mut store, &ada, &NOWHERE).await.unwrap(), Rehearsed::NeedsFactor);
        let app = with(FactorName::Totp);
        assert_eq!(rehearse(&mut store, &ada, &app).await.unwrap(), Rehearsed::SignedIn);
        let none = with(FactorName::RecoveryCode);
        assert_eq!(rehearse(&mut store, &ada, &none).await.unwrap(), refused(Refusal::NoFactor));
        set(&mut store, |policy| policy.mfa.accepted_factors = vec![FactorKind::Webauthn]).await;
        assert_eq!(rehearse(&mut store, &ada, &app).await.unwrap(), Rehearsed::MustEnrol);
        for _ in 0..MAX_WRONG_CODES {
            store.count_wrong_code(&ada.id).await.unwrap();
        }
        assert_eq!(rehearse(&mut store, &ada, &app).await.unwrap(), refused(Refusal::TooManyWrongCodes));

        set(&mut store, |policy| policy.sign_in_mode = SignInMode::SsoRequired).await;
        assert_eq!(rehearse(&mut store, &ada, &app).await.unwrap(), refused(Refusal::SsoRequired));
        set(&mut store, |policy| policy.sign_in_mode = SignInMode::CredentialsOnly).await;
        assert_eq!(rehearse(&mut store, &ada, &sso).await.unwrap(), refused(Refusal::SsoNotAllowed));
    }

    #[test]
    fn every_reason_has_its_own_code_and_sentences() {
        for (place, refusal) in Refusal::ALL.iter().enumerate() {
            assert_eq!(Refusal::of_code(refusal.code()), Some(*refusal));
            assert!(Refusal::ALL.iter().skip(place + 1).all(|other| other.code() != refusal.code()));
            assert!(refusal.why().ends_with('.') && refusal.mend().ends_with('.'));
        }
    }
}
