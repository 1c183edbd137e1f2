//! Carries out the actions with the functions of this crate on real storage.

mod enrolments;
mod sign_ins;

use std::sync::Arc;

use audit::{Audited, Event, events::users::UserUpdated};
use credentials::{FactorStore, Passkeys, SignInStore, conformance::Authenticator};
use directory::{LinkKind, NewPerson, PeopleStore, Person, Role};
use kernel::{Actor, Ctx, Env, ManualEnv, Secret, TenantId, UserId};
use netpolicy::{Mode, NetworkPolicyStore, Settings};
use serde_json::Value;
use sessions::{Session, SessionId, SessionStore};

use super::{
    Bench,
    step::{Action, Observed},
};
use crate::{
    Device, Error, FactorAnswer, FactorName, Outcome, TotpKeys, end_session,
    password::{FittingAccount, PasswordProof, password_digest},
    reset, ticket,
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

/// Names a refusal by its error variant. Storage never fails.
fn refused(error: &Error) -> Observed {
    assert!(!matches!(error, Error::Store(_)), "{error:?}");
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

    fn totp(&self, secret: &Secret<Vec<u8>>) -> String {
        let seconds = u64::try_from(self.now() / 1000).unwrap();
        totp_lite::totp_custom::<totp_lite::Sha1>(30, 6, secret.expose(), seconds)
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
