//! Sign-ins with each kind of proof, and their next steps.

use std::sync::Arc;

use credentials::{TicketKind, TicketStore, conformance::Authenticator};
use kernel::{Ctx, Env};
use serde_json::Value;
use sessions::{SessionStore, Standing};

use super::{Bench, KnownTicket, ORIGIN, Observed, PlainKeys, Rig, SLUG, device};
use crate::{
    Attempt, Error, FactorAnswer, FactorName, LinkProof, NeighbourCookie, Outcome, PasskeyChallenge,
    PasskeyProof, SecondFactor, Verifiers, continue_session,
    federated::with_identity_provider,
    lock_account,
    password::{PasswordProof, choose_tenant, offer_tenants},
    resume, ticket, with_link, with_neighbour_cookie, with_passkey, with_password, with_second_factor,
};

impl<B: Bench> Rig<B> {
    pub(super) async fn with_password(&mut self, proof: PasswordProof) -> Result<Observed, Error> {
        let passkeys = Arc::clone(&self.passkeys);
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let verifiers = Verifiers { passkeys: Some(&passkeys), totp: &PlainKeys };
            with_password(ctx, store, &verifiers, proof, &device()).await
        };
        let outcome = self.run(work).await?;
        Ok(self.remember(outcome, None))
    }

    pub(super) async fn offer(&mut self) -> Result<Observed, Error> {
        let user = self.user.clone();
        let choices = vec![self.fitting(self.password.unwrap_or(self.newest_password))];
        let work =
            async move |ctx: &Ctx, store: &mut B::Store| offer_tenants(ctx, store, &user, choices).await;
        let ticket = self.run(work).await?;
        self.tickets.push(KnownTicket { text: ticket.0, options: None });
        Ok(Observed::Done)
    }

    pub(super) async fn choose(&mut self, back: usize, right: bool) -> Result<Observed, Error> {
        let (_, hash) = self.ticket(back)?;
        let slug = if right { SLUG } else { "another" };
        let work = async move |ctx: &Ctx, store: &mut B::Store| choose_tenant(ctx, store, &hash, slug).await;
        let Some(chosen) = self.run(work).await? else { return Ok(Observed::Wrong) };
        let chosen_of = Some(chosen.compared_at);
        self.with_password(PasswordProof { account: chosen.account, chosen_of, newer_hash: None }).await
    }

    pub(super) async fn redeem(&mut self, newest: bool) -> Result<Observed, Error> {
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

    pub(super) async fn passkey(&mut self) -> Result<Observed, Error> {
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

    pub(super) async fn identity_provider(&mut self) -> Result<Observed, Error> {
        let (user, passkeys) = (self.user.clone(), Arc::clone(&self.passkeys));
        let work = async move |ctx: &Ctx, store: &mut B::Store| {
            let verifiers = Verifiers { passkeys: Some(&passkeys), totp: &PlainKeys };
            let account = lock_account(store, &user).await?;
            with_identity_provider(ctx, store, &verifiers, account, (None, None), &device()).await
        };
        let outcome = self.run(work).await?;
        Ok(self.remember(outcome, None))
    }

    pub(super) async fn neighbour(&mut self) -> Result<Observed, Error> {
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

    pub(super) async fn second(
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

    pub(super) async fn go_on(&mut self, back: usize, owes_today: bool) -> Result<Observed, Error> {
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

    pub(super) async fn resume(&mut self, back: usize) -> Result<Observed, Error> {
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
}
