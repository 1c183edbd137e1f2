//! Compares generated step-ups with a reference model, step by step.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use kernel::{Actor, Ctx, Env, ManualEnv, MasterKeys, Random, Secret, SigningKeys, TenantId, UserId};
use serde_json::Value;

use crate::{
    Answer, Attempt, CHALLENGE_MINUTES, Caller, Ceremonies, ChallengeId, Error, Factor, Invalid, MAX_LIVE,
    MAX_WRONG_ANSWERS, Purpose, StepUpStore, begin, check, revoke, status, verify,
};

const SHIP: Purpose = Purpose::new("SHIP", "Ship a release.");
const PURPOSES: [Purpose; 2] =
    [SHIP, Purpose { ttl_seconds: 600, ..Purpose::new("SEAL", "Seal a payroll.") }];

/// Accepts the code "right" of every user.
struct Apps<'s>(&'s mut dyn StepUpStore);

#[async_trait]
impl Ceremonies for Apps<'_> {
    fn store(&mut self) -> &mut dyn StepUpStore {
        &mut *self.0
    }

    async fn factors(&mut self, _: &Ctx, _: &UserId) -> Result<Vec<Factor>, Error> {
        Ok(vec![Factor::Totp])
    }

    async fn verify(
        &mut self,
        _: &Ctx,
        _: &UserId,
        _: Factor,
        answer: &Answer,
        _: &Value,
    ) -> Result<bool, Error> {
        Ok(answer.is_code("right"))
    }
}

/// A challenge as the model knows it.
struct Challenge {
    id: ChallengeId,
    caller: usize,
    purpose: usize,
    made: i64,
    wrong: i64,
    gone: bool,
}

/// A token as the model knows it.
struct Token {
    text: String,
    caller: usize,
    purpose: usize,
    expires: i64,
    /// Why it is no longer valid, if it was consumed or revoked.
    spent: Option<Invalid>,
}

/// Counts each observed result, so that a suite can assert that it has covered them all.
pub type ActionCounts = BTreeMap<String, usize>;

/// The callers and what they know, beside what the storage must contain.
struct Rig {
    env: Arc<ManualEnv>,
    tenant: TenantId,
    keys: SigningKeys,
    /// Two sessions of one user, and one of another.
    callers: [Caller; 3],
    challenges: Vec<Challenge>,
    tokens: Vec<Token>,
}

/// Runs `steps` random steps, drawn from `seed`, on the storage of a tenant without step-ups.
///
/// # Panics
/// If the storage or this crate behaves differently from the model.
pub async fn sequence(
    store: &mut dyn StepUpStore,
    tenant: &TenantId,
    env: &Arc<ManualEnv>,
    seed: u64,
    steps: usize,
) -> ActionCounts {
    let (ada, bob) = (UserId::new(&**env), UserId::new(&**env));
    let ip: IpAddr = [192, 0, 2, 7].into();
    let callers = [
        Caller::new(ada.clone(), format!("one of {ada}"), ip),
        Caller::new(ada.clone(), format!("two of {ada}"), ip),
        Caller::new(bob.clone(), format!("one of {bob}"), ip),
    ];
    let masters = MasterKeys::new(vec![("a".to_owned(), Secret::new(vec![7; 32]))]).unwrap();
    let keys = SigningKeys::derive(&masters, "step-up");
    let (env, tenant) = (Arc::clone(env), tenant.clone());
    let mut rig = Rig { env, tenant, keys, callers, challenges: Vec::new(), tokens: Vec::new() };
    let mut random = Random::new(seed);
    let mut seen = ActionCounts::new();
    for step in 0..steps {
        // No two challenges or tokens are of the same time.
        rig.env.advance_millis(1);
        let (act, observed, expected) = rig.step(store, &mut random).await;
        assert_eq!(observed, expected, "seed {seed}, step {step}: {act}");
        *seen.entry(format!("{act} {observed}")).or_default() += 1;
    }
    seen
}

impl Rig {
    fn ctx(&self) -> Ctx {
        Ctx::new(self.env.clone(), self.tenant.clone(), Actor::system("test"))
    }

    fn now(&self) -> i64 {
        self.env.now().unix_millis()
    }

    /// Carries out one action. Returns its name, the observed and the expected result.
    async fn step(
        &mut self,
        store: &mut dyn StepUpStore,
        random: &mut Random,
    ) -> (&'static str, String, String) {
        let (caller, purpose) = (random.index(self.callers.len()), random.index(PURPOSES.len()));
        match random.below(100) {
            0..25 => self.begin(store, caller, purpose).await,
            25..55 => {
                let caller = random.chance(20).then_some(caller);
                self.answer(store, random.back(), caller, random.chance(60)).await
            }
            55..80 => {
                let other = random.chance(15).then_some((caller, purpose));
                self.consume(store, random.back(), other, random.chance(5)).await
            }
            80..85 => self.revoke(store, caller).await,
            85..92 => self.status(store, caller, purpose).await,
            _ => {
                let waits = [20_000, 61_000, 4 * 60_000, 6 * 60_000, 11 * 60_000];
                self.env.advance_millis(waits[random.index(waits.len())]);
                ("wait", String::new(), String::new())
            }
        }
    }

    async fn begin(
        &mut self,
        store: &mut dyn StepUpStore,
        caller: usize,
        purpose: usize,
    ) -> (&'static str, String, String) {
        let begun = begin(&self.ctx(), &mut Apps(store), &self.callers[caller], &PURPOSES[purpose]).await;
        let made = self.now();
        let id = begun.unwrap().id;
        self.challenges.push(Challenge { id, caller, purpose, made, wrong: 0, gone: false });
        // At most five stay in a session.
        let of_session = self.challenges.iter_mut().rev().filter(|one| one.caller == caller && !one.gone);
        of_session.skip(usize::try_from(MAX_LIVE).unwrap()).for_each(|one| one.gone = true);
        ("begin", "begun".to_owned(), "begun".to_owned())
    }

    async fn answer(
        &mut self,
        store: &mut dyn StepUpStore,
        back: usize,
        other: Option<usize>,
        right: bool,
    ) -> (&'static str, String, String) {
        let Some(at) = self.challenges.len().checked_sub(back + 1) else { return nothing() };
        let caller = other.unwrap_or(self.challenges[at].caller);
        let answer = Answer::Code(if right { "right" } else { "wrong" }.to_owned());
        let attempt = Attempt { challenge: self.challenges[at].id.clone(), factor: Factor::Totp, answer };
        let (ctx, by) = (self.ctx(), &self.callers[caller]);
        let verified = verify(&ctx, &mut Apps(store), &self.keys, &PURPOSES, by, &attempt).await;
        let issued = verified.and_then(crate::Verified::into_token);

        let now = self.now();
        let challenge = &mut self.challenges[at];
        let waits = !challenge.gone
            && challenge.caller == caller
            && challenge.wrong < MAX_WRONG_ANSWERS
            && now < challenge.made + CHALLENGE_MINUTES * 60_000;
        let expected = match (waits, right) {
            (false, _) => "ChallengeInvalid",
            (true, false) => {
                challenge.wrong += 1;
                "FactorInvalid"
            }
            (true, true) => {
                challenge.gone = true;
                "issued"
            }
        };
        let purpose = challenge.purpose;
        let observed = match issued {
            Ok(issued) => {
                let expires = now + i64::from(PURPOSES[purpose].ttl_seconds) * 1000;
                assert_eq!(issued.grant.expires_at.unix_millis(), expires);
                let text = issued.token.expose().to_owned();
                self.tokens.push(Token { text, caller, purpose, expires, spent: None });
                "issued".to_owned()
            }
            Err(error) => name(&error),
        };
        ("answer", observed, expected.to_owned())
    }

    /// Presents a token, perhaps as another caller for another purpose, or from another address.
    async fn consume(
        &mut self,
        store: &mut dyn StepUpStore,
        back: usize,
        other: Option<(usize, usize)>,
        moved: bool,
    ) -> (&'static str, String, String) {
        let Some(at) = self.tokens.len().checked_sub(back + 1) else { return nothing() };
        let token = &self.tokens[at];
        let (caller, purpose) = other.unwrap_or((token.caller, token.purpose));
        let ip = if moved { Some([198, 51, 100, 1].into()) } else { self.callers[caller].ip };
        let by = Caller { ip, ..self.callers[caller].clone() };
        let ctx = self.ctx();
        let consumed = match check(&ctx, &self.keys, &PURPOSES[purpose], &by, &token.text) {
            Ok(proof) => proof.consume(&ctx, store).await.map(drop),
            Err(invalid) => Err(invalid.into()),
        };

        let owner = &self.callers[token.caller];
        let refusals = [
            (self.now() >= token.expires, Invalid::Expired),
            (purpose != token.purpose, Invalid::PurposeMismatch),
            (by.user != owner.user, Invalid::UserMismatch),
            (by.session != owner.session, Invalid::SessionMismatch),
            (moved, Invalid::IpMismatch),
        ];
        let refusal = refusals.into_iter().find(|(applies, _)| *applies).map(|(_, invalid)| invalid);
        let expected = refusal.or(token.spent).map_or("consumed", Invalid::reason);
        if expected == "consumed" {
            self.tokens[at].spent = Some(Invalid::AlreadyUsed);
        }
        let observed = match &consumed {
            Ok(()) => "consumed".to_owned(),
            Err(Error::Invalid(invalid)) => invalid.reason().to_owned(),
            Err(error) => name(error),
        };
        ("consume", observed, expected.to_owned())
    }

    async fn revoke(&mut self, store: &mut dyn StepUpStore, caller: usize) -> (&'static str, String, String) {
        let user = self.callers[caller].user.clone();
        let revoked = revoke(store, &user, self.env.now()).await.unwrap();
        let is_of = |caller: usize| self.callers[caller].user == user;
        let mut live = 0;
        for token in self.tokens.iter_mut().filter(|token| is_of(token.caller) && token.spent.is_none()) {
            token.spent = Some(Invalid::Revoked);
            live += 1;
        }
        self.challenges.iter_mut().filter(|one| is_of(one.caller)).for_each(|one| one.gone = true);
        ("revoke", revoked.to_string(), live.to_string())
    }

    async fn status(
        &mut self,
        store: &mut dyn StepUpStore,
        caller: usize,
        purpose: usize,
    ) -> (&'static str, String, String) {
        let user = &self.callers[caller].user;
        let freshest = status(&self.ctx(), store, user, &PURPOSES[purpose]).await.unwrap();
        let usable = |token: &&Token| {
            self.callers[token.caller].user == *user
                && token.purpose == purpose
                && token.spent.is_none()
                && self.now() < token.expires
        };
        let expected = self.tokens.iter().rev().find(usable).map(|token| token.expires);
        let observed = freshest.map(|grant| grant.expires_at.unix_millis());
        assert_eq!(observed, expected, "the freshest usable token");
        let answer = if observed.is_some() { "usable" } else { "none" };
        ("status", answer.to_owned(), answer.to_owned())
    }
}

/// The result of an action that has nothing to act on.
fn nothing() -> (&'static str, String, String) {
    ("nothing", String::new(), String::new())
}

fn name(error: &Error) -> String {
    let text = format!("{error:?}");
    text.split(['(', ' ']).next().unwrap_or_default().to_owned()
}
