//! Compares generated sign-ins with a reference model, step by step. Every storage has to pass.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a conformance suite fails by panicking")]

mod model;
mod rig;
mod step;

use std::sync::Arc;

use audit::Audited;
use kernel::{Ctx, Env, ManualEnv, TenantId};
use sessions::{GraceAct, Standing};

pub use credentials::conformance::NoTrustAnchors;

pub use self::rig::PlainKeys;
use self::{
    model::Model,
    rig::Rig,
    step::{Action, Observed, Random},
};
use crate::{Error, MemoryStore, Storage};

/// Number of newest sessions whose rows are compared with the model after each step.
const COMPARED: usize = 4;
/// Maximum number of factors that the user enrols.
const FACTORS: usize = 5;

/// The storage of one tenant under test, and its units of work.
pub trait Bench {
    /// The storage inside a unit of work.
    type Store: Storage;

    /// Runs a unit of work and rolls it back if it fails.
    fn run<T: Send + 'static>(
        &mut self,
        ctx: Ctx,
        work: impl AsyncFnOnce(&Ctx, &mut Self::Store) -> Result<Audited<T>, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>>;
}

impl Bench for MemoryStore {
    type Store = Self;

    async fn run<T: Send + 'static>(
        &mut self,
        ctx: Ctx,
        work: impl AsyncFnOnce(&Ctx, &mut Self) -> Result<Audited<T>, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let mut changed = self.clone();
        let (value, _) = work(&ctx, &mut changed).await?.into_parts();
        *self = changed;
        Ok(value)
    }
}

/// Counts each observed result, so that a suite can assert that it has covered them all.
pub type ActionCounts = std::collections::BTreeMap<String, usize>;

/// Runs `steps` random steps, drawn from `seed`, on the storage of an existing tenant without users.
///
/// # Panics
/// If the storage or this crate behaves differently from the model.
pub async fn sequence<B: Bench>(
    bench: B,
    tenant: TenantId,
    env: Arc<ManualEnv>,
    seed: u64,
    steps: usize,
) -> ActionCounts {
    let mut random = Random::new(seed);
    let mut rig = Rig::new(bench, tenant, env.clone()).await;
    let mut model = Model::new(env.now().unix_millis());
    let mut seen = ActionCounts::new();
    for step in 0..steps {
        let act = random.act();
        if !applies(&model, &act) {
            continue;
        }
        let expected = expected(&mut model, &act);
        let observed = rig.act(&act).await;
        assert_eq!(observed, expected, "seed {seed}, step {step}: {act:?}, with {:?}", model.policy);
        settle(&mut model, &rig, &act, &observed);
        compare(&model, &mut rig, &format!("seed {seed}, step {step}: {act:?}")).await;
        *seen.entry(name(&observed)).or_default() += 1;
    }
    seen
}

fn name(observed: &Observed) -> String {
    match observed {
        Observed::FactorOwed(_) => "FactorOwed".to_owned(),
        Observed::Refused(error) => error.clone(),
        other => format!("{other:?}"),
    }
}

/// Whether the session or factor that the action needs exists.
fn applies(model: &Model, act: &Action) -> bool {
    match *act {
        Action::Continue { session, .. } | Action::EndSession { session } => {
            model.sessions.iter().rev().nth(session).is_some_and(|session| !session.revoked)
        }
        Action::EnrolApp { session, .. } => model.factors.len() < FACTORS && session < model.sessions.len(),
        Action::EnrolPasskey { session, .. } => {
            !model.has_passkey() && model.factors.len() < FACTORS && session < model.sessions.len()
        }
        _ => true,
    }
}

/// Returns the result the model expects, and applies actions that are not sign-in steps to the model.
fn expected(model: &mut Model, act: &Action) -> Observed {
    match act {
        Action::ChooseTenant { ticket, right } => return model.choose(*ticket, *right),
        Action::IssueLink => {}
        Action::NewRecoveryCodes => model.codes = vec![false; 3],
        Action::SetPolicy(policy) => model.policy = policy.clone(),
        Action::SetNetwork { blocks } => model.blocked = *blocks,
        Action::Wait { millis } => model.now += millis,
        _ => return model.act(act),
    }
    Observed::Done
}

/// Sets the expiry of a newly issued link in the model.
fn settle<B: Bench>(model: &mut Model, rig: &Rig<B>, act: &Action, observed: &Observed) {
    if matches!(act, Action::IssueLink | Action::ResetPassword) && *observed == Observed::Done {
        model.set_link(rig.link_hours);
    }
    assert_eq!(model.now, rig.now(), "the model and the implementation read the same clock");
}

/// Asserts that the stored rows match the model.
async fn compare<B: Bench>(model: &Model, rig: &mut Rig<B>, step: &str) {
    let (stored, codes, factors, wrong_codes) = rig.observe(COMPARED).await;
    assert_eq!(codes, model.unused_codes(), "{step}");
    assert_eq!(factors, model.factors.len(), "{step}");
    assert_eq!(wrong_codes, model.wrong_codes, "{step}");
    assert_eq!(rig.sessions.len(), model.sessions.len(), "{step}");
    for (session, expected) in stored.iter().zip(model.sessions.iter().rev()) {
        assert_eq!(session.standing == Standing::Full, expected.full, "{step}");
        assert_eq!(session.methods, expected.methods, "{step}");
        assert_eq!(session.signed_in_at.unix_millis(), expected.signed_in, "{step}");
        assert_eq!(session.revoked_at.is_some(), expected.revoked, "{step}");
        let grace = session.grace.as_ref();
        let grace = grace
            .map(|grace| (grace.kind, grace.since.unix_millis(), grace.spent.contains(&GraceAct::Enrol)));
        assert_eq!(grace, expected.grace, "{step}");
    }
}
