//! Carries out the actions with the functions of this crate on real storage.

use std::sync::Arc;

use audit::{Audited, Event, events::users::UserUpdated};
use credentials::{
    Attestation, Creation, Factor, FactorData, FactorId, FactorStore, Passkeys, SignInStore, TicketKind,
    TicketStore,
    conformance::{Authenticator, NoTrustAnchors},
};
use directory::{LinkKind, NewPerson, PeopleStore, Person, Role};
use kernel::{Actor, Ctx, Env, ManualEnv, Secret, TenantId, UserId};
use netpolicy::{Mode, NetworkPolicyStore, Settings};
use serde_json::Value;
use sessions::{Session, SessionId, SessionStore, Standing};

use super::{
    Bench,
    step::{Action, Observed},
};
use crate::{
    Attempt, Device, Error, FactorAnswer, FactorName, LinkProof, NeighbourCookie, Outcome, PasskeyChallenge,
    PasskeyProof, SecondFactor, TotpKeys, Verifiers, continue_session, end_session,
    enrolment::{self, Enrolling, EnrolmentGround},
    federated::with_identity_provider,
    lock_account, lock_session,
    password::{FittingAccount, PasswordProof, choose_tenant, offer_tenants, password_digest},
    reset, resume, ticket, with_link, with_neighbour_cookie, with_passkey, with_password, with_second_factor,
};

const SLUG: &str = "acme";

/// The origin that the authenticator signs.
const ORIGIN: &str = "https://id.example.com";

/// Stores TOTP secrets in plain text. Their encryption belongs to another crate.
#[derive(Debug)]
pub struct PlainKeys;

impl TotpKeys for PlainKeys {
    fn seal_totp(&self, _: &dyn Env, _: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
        Some(secret.to_vec())
    }

    fn open_totp(&self, _: &[u8], sealed: &[u8]) -> Option<Secret<Vec<u8>>> {
        Some(Secret::new(sealed.to_vec()))
    }
}

/// A ticket as its client knows it.
struct KnownTicket {
    text: String,
    options: Option<Value>,
}

/// One tenant with one user, and everything that the user and the browsers know.
pub(super) struct Rig<B> {
    bench: B,
    env: Arc<ManualEnv>,
    tenant: TenantId,
    user: UserId,
    passkeys: Arc<Passkeys>,
    tickets: Vec<KnownTicket>,
    pub(super) sessions: Vec<SessionId>,
    links: Vec<String>,
    apps: Vec<Secret<Vec<u8>>>,
    authenticator: Option<Authenticator>,
    codes: Vec<Secret<String>>,
    neighbours: u8,
    password: Option<u32>,
    newest_password: u32,
    /// Lifetime of the newest link in hours.
    pub(super) link_hours: i64,
}

/// Names a refusal by its error variant.
fn refused(error: &Error) -> Observed {
    let name = format!("{error:?}");
    Observed::Refused(name.split(['(', ' ']).next().unwrap_or_default().to_owned())
}

fn device() -> Device {
    Device::new("a test", None, None)
}

/// Adds an arbitrary audit event to changes that callers of this crate would record themselves.
fn audited<T>(value: T) -> Audited<T> {
    Audited::new(value, Event::new("test", &UserUpdated { changed: Vec::new() }))
}

impl<B: Bench> Rig<B> {
    pub(super) async fn new(bench: B, tenant: TenantId, env: Arc<ManualEnv>) -> Self {
        let user = UserId::new(&*env);
        let mut rig = Self {
            bench,
            user: user.clone(),
            passkeys: Arc::new(Passkeys::new("Gatehouse", ORIGIN, &[]).unwrap()),
            tickets: Vec::new(),
            sessions: Vec::new(),
            links: Vec::new(),
            apps: Vec::new(),
            authenticator: None,
            codes: Vec::new(),
            neighbours: 0,
            password: None,
            newest_password: 0,
            link_hours: 0,
            tenant,
            env,
        };
        let made = rig.run(async move |ctx, store| {
            let email = "ada@example.com".parse().unwrap();
            let new = NewPerson { email, role: Role::Member, display_name: None };
            let person = directory::create_person(ctx, store, new).await.unwrap();
            Ok(audited(person))
        });
        rig.user = made.await.unwrap().id;
        rig
    }

    fn ctx(&self) -> Ctx {
        let mut ctx = Ctx::new(self.env.clone(), self.tenant.clone(), Actor::user(&self.user));
        ctx.ip = Some([203, 0, 113, 9].into());
        ctx
    }

    pub(super) fn now(&self) -> i64 {
        self.env.now().unix_millis()
    }

    async fn run<T: Send + 'static>(
        &mut self,
        work: impl AsyncFnOnce(&Ctx, &mut B::Store) -> Result<Audited<T>, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.bench.run(self.ctx(), work).await
    }

    /// Carries out an action and returns its result.
    pub(super) async fn act(&mut self, act: &Action) -> Observed {
        match self.try_act(act).await {
            Ok(observed) => observed,
            Err(error) => refused(&error),
        }
    }

    async fn try_act(&mut self, act: &Action) -> Result<Observed, Error> {
        match *act {
            Action::Password { right } => {
                let version = if right { self.password } else { None };
                let account = self.fitting(version.unwrap_or(u32::MAX));
                self.with_password(PasswordProof { account, chosen_of: None, newer_hash: None }).await
            }
            Action::OfferTenants => self.offer().await,
            Action::ChooseTenant { ticket, right } => self.choose(ticket, right).await,
            Action::IssueLink => self.issue_link().await,
            Action::RedeemLink { newest } => self.redeem(newest).await,
            Action::Passkey => self.passkey().await,
            Action::IdentityProvider => self.identity_provider().await,
            Action::NeighbourCookie => self.neighbour().await,
            Action::Totp { ticket, app, right } => {
                let code = self.apps.iter().rev().nth(app).filter(|_| right);
                let code = code.map_or_else(|| "none".to_owned(), |secret| self.totp(secret));
                self.second(ticket, FactorName::Totp, FactorAnswer::Code(code)).await
            }
            Action::RecoveryCode { ticket, code } => {
                let code =
                    self.codes.get(code).map_or_else(|| "none".to_owned(), |code| code.expose().clone());
                self.second(ticket, FactorName::RecoveryCode, FactorAnswer::Code(code)).await
            }
            Action::Assertion { ticket } => {
                let asked = self.tickets.iter().rev().nth(ticket).and_then(|ticket| ticket.options.clone());
                let asked = asked.unwrap_or_else(|| self.passkeys.begin_assertion(&[]).unwrap().0);
                let credential =
                    self.authenticator.get_or_insert_with(|| Authenticator::new(ORIGIN)).get(&asked);
                self.second(ticket, FactorName::Webauthn, FactorAnswer::Credential(credential)).await
            }
            Action::Continue { session, owes_today } => self.go_on(session, owes_today).await,
            Action::Resume { ticket } => self.resume(ticket).await,
            Action::EnrolApp { session, steps_up } => self.enrol_app(session, steps_up).await,
            Action::EnrolPasskey { session, steps_up } => self.enrol_passkey(session, steps_up).await,
            Action::NewRecoveryCodes => self.new_codes().await,
            Action::SetPolicy(ref policy) => {
                let policy = policy.clone();
                self.run(async move |_, store| Ok(audited(store.set_sign_in_policy(&policy).await?))).await?;
                Ok(Observed::Done)
            }
            Action::SetActive(active) => self.change(move |person| person.active = active).await,
            Action::SetBreakGlass(on) => self.change(move |person| person.break_glass = on).await,
            Action::SetNetwork { blocks } => {
                let mode = if blocks { Mode::Allowlist } else { Mode::Off };
                let settings = Settings { mode, ..Settings::default() };
                self.run(async move |_, store| Ok(audited(store.set_network_settings(&settings).await?)))
                    .await?;
                Ok(Observed::Done)
            }
            Action::ResetPassword => self.reset_password().await,
            Action::ResetFactors => {
                let user = self.user.clone();
                self.run(async move |ctx, store| reset::reset_factors(ctx, store, &user).await).await?;
                self.forget_factors();
                Ok(Observed::Done)
            }
            Action::EndSession { session } => {
                let (user, id) = (self.user.clone(), self.session(session));
                let work = async move |ctx: &Ctx, store: &mut B::Store| {
                    end_session(ctx, store, &user, &id, "REVOKED").await.map_err(Error::internal)
                };
                self.run(work).await?;
                Ok(Observed::Done)
            }
            Action::Wait { millis } => {
                self.env.advance_millis(millis);
                Ok(Observed::Done)
            }
        }
    }

    fn forget_factors(&mut self) {
        self.apps.clear();
        self.codes.clear();
        self.authenticator = None;
    }

    fn session(&self, back: usize) -> SessionId {
        self.sessions.iter().rev().nth(back).unwrap().clone()
    }

    /// Remembers the ticket and the session that the client receives.
    fn remember(&mut self, outcome: Outcome, waited: Option<usize>) -> Observed {
        let (observed, started) = match outcome {
            Outcome::FactorOwed { ticket, factors, webauthn } => {
                self.tickets.push(KnownTicket { text: ticket.0, options: webauthn });
                return Observed::FactorOwed(factors.into_iter().map(FactorName::as_str).collect());
            }
            Outcome::SignedIn(started) => (Observed::SignedIn, started),
            Outcome::EnrolmentOwed { ticket, started } => {
                self.tickets.push(KnownTicket { text: ticket.0, options: None });
                (Observed::EnrolmentOwed, started)
            }
        };
        match waited {
            Some(at) => self.sessions[at] = started.session.id,
            None => self.sessions.push(started.session.id),
        }
        observed
    }

    fn fitting(&self, version: u32) -> FittingAccount {
        FittingAccount {
            slug: SLUG.to_owned(),
            tenant: self.tenant.clone(),
            user: self.user.clone(),
            verified: password_digest(Some(&format!("hash {version}"))),
            email_key: "ada@example.com".to_owned(),
        }
    }

    async fn with_password(&mut self, proof: PasswordProof) -> Result<Observed, Error> {
        let passkeys = Arc::clone(&self.passkeys);
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let verifiers = Verifiers { passkeys: Some(&passkeys), totp: &PlainKeys };
            with_password(ctx, store, &verifiers, proof, &device()).await
        };
        let outcome = self.run(work).await?;
        Ok(self.remember(outcome, None))
    }

    async fn offer(&mut self) -> Result<Observed, Error> {
        let user = self.user.clone();
        let choices = vec![self.fitting(self.password.unwrap_or(self.newest_password))];
        let work =
            async move |ctx: &Ctx, store: &mut B::Store| offer_tenants(ctx, store, &user, choices).await;
        let ticket = self.run(work).await?;
        self.tickets.push(KnownTicket { text: ticket.0, options: None });
        Ok(Observed::Done)
    }

    async fn choose(&mut self, back: usize, right: bool) -> Result<Observed, Error> {
        let (_, hash) = self.ticket(back)?;
        let slug = if right { SLUG } else { "another" };
        let work = async move |ctx: &Ctx, store: &mut B::Store| choose_tenant(ctx, store, &hash, slug).await;
        let Some(chosen) = self.run(work).await? else { return Ok(Observed::Wrong) };
        let chosen_of = Some(chosen.compared_at);
        self.with_password(PasswordProof { account: chosen.account, chosen_of, newer_hash: None }).await
    }

    fn ticket(&self, back: usize) -> Result<(String, [u8; 32]), Error> {
        let known = self.tickets.iter().rev().nth(back).ok_or(Error::TicketInvalid)?;
        Ok((known.text.clone(), ticket::parse(&known.text)?.1))
    }

    async fn issue_link(&mut self) -> Result<Observed, Error> {
        let user = self.user.clone();
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let person = directory::find_person(store, &user).await.unwrap();
            Ok(audited(reset::issue_link(ctx, store, &person, LinkKind::Invitation).await?))
        };
        let link = self.run(work).await?;
        self.links.push(link.expose().to_owned());
        self.link_hours = LinkKind::Invitation.hours();
        Ok(Observed::Done)
    }

    async fn reset_password(&mut self) -> Result<Observed, Error> {
        let user = self.user.clone();
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            reset::reset_password(ctx, store, &user, false).await
        };
        let done = self.run(work).await?;
        self.links.push(done.link.expose().to_owned());
        self.link_hours = done.kind.hours();
        self.password = None;
        Ok(Observed::Done)
    }

    async fn redeem(&mut self, newest: bool) -> Result<Observed, Error> {
        let text = self.links.iter().rev().nth(usize::from(!newest));
        let link = text.and_then(|text| crate::parse_link(text).ok()).map_or([0; 32], |(_, hash)| hash);
        let password = self.newest_password + 1;
        let proof = LinkProof { user: self.user.clone(), link, password_hash: format!("hash {password}") };
        let passkeys = Arc::clone(&self.passkeys);
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let verifiers = Verifiers { passkeys: Some(&passkeys), totp: &PlainKeys };
            with_link(ctx, store, &verifiers, proof, &device()).await
        };
        let outcome = self.run(work).await?;
        self.newest_password = password;
        self.password = Some(password);
        Ok(self.remember(outcome, None))
    }

    async fn passkey(&mut self) -> Result<Observed, Error> {
        let (challenge, options) = PasskeyChallenge::new(&self.passkeys, self.env.now())?;
        let sealed = challenge.to_bytes()?;
        let challenge = PasskeyChallenge::from_bytes(&sealed, self.env.now())?;
        let authenticator = self.authenticator.get_or_insert_with(|| Authenticator::new(ORIGIN));
        authenticator.set_user(&self.tenant, &self.user);
        let credential = authenticator.get(&options);
        let proof = PasskeyProof::new(challenge, &String::from_utf8_lossy(&sealed), credential)?;
        let passkeys = Arc::clone(&self.passkeys);
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let verifiers = Verifiers { passkeys: Some(&passkeys), totp: &PlainKeys };
            with_passkey(ctx, store, &verifiers, proof, &device()).await
        };
        match self.run(work).await? {
            Attempt::Wrong | Attempt::UnknownPasskey => Ok(Observed::Wrong),
            Attempt::Right(outcome) => Ok(self.remember(*outcome, None)),
        }
    }

    async fn identity_provider(&mut self) -> Result<Observed, Error> {
        let (user, passkeys) = (self.user.clone(), Arc::clone(&self.passkeys));
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let verifiers = Verifiers { passkeys: Some(&passkeys), totp: &PlainKeys };
            let account = lock_account(store, &user).await?;
            with_identity_provider(ctx, store, &verifiers, account, (None, None), &device()).await
        };
        let outcome = self.run(work).await?;
        Ok(self.remember(outcome, None))
    }

    async fn neighbour(&mut self) -> Result<Observed, Error> {
        self.neighbours += 1;
        let token_hash = [self.neighbours; 32];
        let cookie = NeighbourCookie { user: self.user.clone(), issued_at: self.env.now(), token_hash };
        let user = self.user.clone();
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let begun = with_neighbour_cookie(ctx, store, cookie, &device()).await?;
            let own = store.sessions_of(&user).await?;
            let id = own.into_iter().find(|session| session.foreign == Some(token_hash)).unwrap().id;
            Ok(begun.map(|()| id))
        };
        let id = self.run(work).await?;
        self.sessions.push(id);
        Ok(Observed::Done)
    }

    fn totp(&self, secret: &Secret<Vec<u8>>) -> String {
        let seconds = u64::try_from(self.now() / 1000).unwrap();
        totp_lite::totp_custom::<totp_lite::Sha1>(30, 6, secret.expose(), seconds)
    }

    async fn second(
        &mut self,
        back: usize,
        name: FactorName,
        answer: FactorAnswer,
    ) -> Result<Observed, Error> {
        let (_, ticket) = self.ticket(back).unwrap_or_default();
        let user = self.user.clone();
        let proof = SecondFactor { user: user.clone(), ticket, name, answer };
        let passkeys = Arc::clone(&self.passkeys);
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let verifiers = Verifiers { passkeys: Some(&passkeys), totp: &PlainKeys };
            // Read the id of the waiting session first: it is renewed when the session completes.
            let kept = store.ticket(&ticket).await?;
            let waits = kept.and_then(|kept| kept.state["session"].as_str().map(str::to_owned));
            let attempt = with_second_factor(ctx, store, &verifiers, proof, &device()).await?;
            Ok(attempt.map(|attempt| (attempt, waits)))
        };
        match self.run(work).await? {
            (Attempt::Wrong | Attempt::UnknownPasskey, _) => Ok(Observed::Wrong),
            (Attempt::Right(outcome), waits) => {
                let waits = waits.and_then(|id| self.sessions.iter().position(|own| own.as_str() == id));
                Ok(self.remember(*outcome, waits))
            }
        }
    }

    async fn go_on(&mut self, back: usize, owes_today: bool) -> Result<Observed, Error> {
        let (id, passkeys) = (self.session(back), Arc::clone(&self.passkeys));
        let at = self.sessions.len() - 1 - back;
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let verifiers = Verifiers { passkeys: Some(&passkeys), totp: &PlainKeys };
            let session = store.session(&id).await?.unwrap();
            let standing = if owes_today { Standing::Owing } else { session.standing };
            continue_session(ctx, store, &verifiers, &session, standing, &device()).await
        };
        let outcome = self.run(work).await?;
        Ok(self.remember(outcome, Some(at)))
    }

    async fn resume(&mut self, back: usize) -> Result<Observed, Error> {
        let text = self.ticket(back).map(|(text, _)| text);
        let (user, passkeys) = (self.user.clone(), Arc::clone(&self.passkeys));
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let verifiers = Verifiers { passkeys: Some(&passkeys), totp: &PlainKeys };
            // Without a ticket, resume with one that has been consumed.
            let text = if let Ok(text) = text {
                text
            } else {
                let issued = ticket::issue(ctx, store, TicketKind::Factor, &user, Value::Null).await?;
                let (_, hash) = ticket::parse(&issued.0)?;
                ticket::take(store, &hash).await?;
                issued.0
            };
            resume(ctx, store, &verifiers, &user, text).await
        };
        match self.run(work).await? {
            Outcome::FactorOwed { factors, webauthn, .. } => {
                let known = self.tickets.iter_mut().rev().nth(back).unwrap();
                known.options = webauthn.or(known.options.take());
                Ok(Observed::FactorOwed(factors.into_iter().map(FactorName::as_str).collect()))
            }
            other => Ok(self.remember(other, None)),
        }
    }

    async fn enrol_app(&mut self, back: usize, steps_up: bool) -> Result<Observed, Error> {
        let secret = credentials::totp::new_secret(&*self.env);
        let last_step = self.now() / 30_000;
        let data = FactorData::Totp { sealed: secret.expose().clone(), last_step };
        let observed = self.enrol(back, steps_up, data).await?;
        if observed == Observed::Done {
            self.apps.push(secret);
        }
        Ok(observed)
    }

    async fn enrol_passkey(&mut self, back: usize, steps_up: bool) -> Result<Observed, Error> {
        let mut authenticator = Authenticator::new(ORIGIN);
        let handle = credentials::user_handle(&self.tenant, &self.user);
        let (options, pending) =
            self.passkeys.begin_registration(&handle, "ada", "Ada", &[], Attestation::None).unwrap();
        let made = authenticator.create(&options);
        let passkey = self
            .passkeys
            .finish_registration(&pending, &made, Creation::Asked, &NoTrustAnchors, self.env.now())
            .unwrap();
        let observed = self.enrol(back, steps_up, FactorData::Passkey(Box::new(passkey))).await?;
        if observed == Observed::Done {
            self.authenticator = Some(authenticator);
        }
        Ok(observed)
    }

    /// Begins and finishes the enrolment of a factor in one unit of work.
    async fn enrol(&mut self, back: usize, steps_up: bool, data: FactorData) -> Result<Observed, Error> {
        let (id, user) = (self.session(back), self.user.clone());
        let at = self.sessions.len() - 1 - back;
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let account = lock_account(store, &user).await?;
            let shown = store.session(&id).await?.unwrap();
            let session = lock_session(store, &shown).await?;
            let standing_today = session.standing;
            let enrolling = Enrolling { account, session, standing_today };
            let factors = store.factors(&user).await?;
            let leave = match enrolment::may_enrol(ctx, store, &enrolling, &factors).await? {
                Some(leave) => leave,
                None if steps_up => EnrolmentGround::Proved,
                None => return Ok(audited(None)),
            };
            let factor = Factor {
                id: FactorId::new(&*ctx.env),
                user: user.clone(),
                name: "a factor".to_owned(),
                created_at: ctx.now,
                verified_at: Some(ctx.now),
                last_used_at: None,
                data,
            };
            let finishing = enrolment::finishing(ctx, store, enrolling, &factor, leave).await?;
            assert!(!finishing.needs_step_up, "the leave is valid only within its unit of work");
            let enrolled = enrolment::finish(ctx, store, finishing, &factor).await?;
            assert!(store.insert_factor(&factor).await?);
            let renewed = enrolled.renewed.map(|started| started.session.id);
            Ok(Audited::of_changes(Some(renewed.unwrap_or(id)), enrolled.events))
        };
        match self.run(work).await? {
            None => Ok(Observed::StepUpNeeded),
            Some(id) => {
                self.sessions[at] = id;
                Ok(Observed::Done)
            }
        }
    }

    async fn new_codes(&mut self) -> Result<Observed, Error> {
        let codes: Vec<_> = credentials::recovery::new_codes(&*self.env).into_iter().take(3).collect();
        let hash =
            |code: &Secret<String>| credentials::recovery::hash(&self.tenant, &self.user, code.expose());
        let hashes: Vec<_> = codes.iter().map(hash).collect();
        let user = self.user.clone();
        self.run(async move |_, store| Ok(audited(store.replace_codes(&user, &hashes).await?))).await?;
        self.codes = codes;
        Ok(Observed::Done)
    }

    async fn change(&mut self, set: impl FnOnce(&mut Person) + Send + 'static) -> Result<Observed, Error> {
        let user = self.user.clone();
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let before = directory::find_person(store, &user).await.unwrap();
            let mut after = before.clone();
            set(&mut after);
            after.updated_at = ctx.now;
            assert!(store.update_person(&before, &after).await?);
            Ok(audited(()))
        };
        self.run(work).await?;
        Ok(Observed::Done)
    }

    /// Returns the newest stored sessions, the numbers of unused recovery codes and of verified factors, and how many
    /// wrong codes came in a row.
    pub(super) async fn observe(&mut self, sessions: usize) -> (Vec<Session>, usize, usize, i64) {
        let ids: Vec<_> = self.sessions.iter().rev().take(sessions).cloned().collect();
        let user = self.user.clone();
        let work = async move |_: &Ctx, store: &mut B::Store| {
            let mut found = Vec::new();
            for id in &ids {
                found.push(store.session(id).await?.unwrap());
            }
            let codes = store.unused_codes(&user).await?;
            let factors = store.factors(&user).await?.len();
            let wrong = store.wrong_codes(&user).await?;
            Ok(audited((found, codes, factors, wrong)))
        };
        self.run(work).await.unwrap()
    }
}
