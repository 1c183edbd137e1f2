//! Enrolments of factors and recovery codes.

use audit::Audited;
use credentials::{
    Attestation, Creation, Factor, FactorData, FactorId, FactorStore,
    conformance::{Authenticator, NoTrustAnchors},
};
use kernel::{Ctx, Env, Secret};
use sessions::SessionStore;

use super::{Bench, ORIGIN, Observed, Rig, audited};
use crate::{
    Error,
    enrolment::{self, Enrolling, EnrolmentGround},
    lock_account, lock_session,
};

impl<B: Bench> Rig<B> {
    pub(super) async fn enrol_app(&mut self, back: usize, steps_up: bool) -> Result<Observed, Error> {
        let secret = credentials::totp::new_secret(&*self.env);
        let last_step = self.now() / 30_000;
        let data = FactorData::Totp { sealed: secret.expose().clone(), last_step };
        let observed = self.enrol(back, steps_up, data).await?;
        if observed == Observed::Done {
            self.apps.push(secret);
        }
        Ok(observed)
    }

    pub(super) async fn enrol_passkey(&mut self, back: usize, steps_up: bool) -> Result<Observed, Error> {
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

    pub(super) async fn new_codes(&mut self) -> Result<Observed, Error> {
        let codes: Vec<_> = credentials::recovery::new_codes(&*self.env).into_iter().take(3).collect();
        let hash =
            |code: &Secret<String>| credentials::recovery::hash(&self.tenant, &self.user, code.expose());
        let hashes: Vec<_> = codes.iter().map(hash).collect();
        let user = self.user.clone();
        self.run(async move |_, store| Ok(audited(store.replace_codes(&user, &hashes).await?))).await?;
        self.codes = codes;
        Ok(Observed::Done)
    }
}
