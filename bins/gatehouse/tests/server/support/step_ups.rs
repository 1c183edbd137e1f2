//! Step-up tokens for tests of guarded actions.

use async_trait::async_trait;
use gate::purposes::PURPOSES;
use kernel::{Ctx, SigningKeys, UserId};
use stepup::{Answer, Attempt, Ceremonies, Ceremony, Factor, StepUpStore};
use store::Tx;

use super::{Browser, Server, masters};

/// Accepts any step-up: tests of guarded actions need no ceremony. The ceremonies themselves are tested in
/// `api/auth/step_up`.
struct Proved<'t>(&'t mut Tx);

#[async_trait]
impl Ceremonies for Proved<'_> {
    fn store(&mut self) -> &mut dyn StepUpStore {
        self.0
    }

    async fn factors(&mut self, _: &Ctx, _: &UserId) -> Result<Vec<Factor>, stepup::Error> {
        Ok(vec![Factor::Webauthn])
    }

    async fn begin(&mut self, _: &Ctx, _: &UserId) -> Result<Ceremony, stepup::Error> {
        Ok(Ceremony::default())
    }

    async fn verify(
        &mut self,
        _: &Ctx,
        _: &UserId,
        _: Factor,
        _: &Answer,
        _: &serde_json::Value,
    ) -> Result<bool, stepup::Error> {
        Ok(true)
    }
}

impl Server {
    /// Returns a step-up token of this browser's user, from this machine.
    pub(crate) fn proof(&self, browser: &Browser, purpose: &str) -> String {
        let me = browser.get("/api/me").json();
        let id = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let caller = stepup::Caller {
            user: id(&me["id"]).parse().unwrap(),
            session: browser.cookie("as_sid"),
            ip: Some(std::net::Ipv4Addr::LOCALHOST.into()),
        };
        let purpose = *stepup::find(&PURPOSES, purpose).unwrap();
        self.write(&id(&me["tenant"]["id"]).parse().unwrap(), async move |ctx, tx| {
            let keys = SigningKeys::derive(&masters(), "step-up");
            let begun = stepup::begin(ctx, &mut Proved(tx), &caller, &purpose).await.unwrap();
            let answer = Answer::Credential(serde_json::Value::Null);
            let attempt = Attempt { challenge: begun.id, factor: Factor::Webauthn, answer };
            let mut factors = Proved(tx);
            let verified =
                stepup::verify(ctx, &mut factors, &keys, &PURPOSES, &caller, &attempt).await.unwrap();
            Ok(verified.into_token().unwrap().token.expose().clone())
        })
    }

    /// Returns the browser with a step-up token for one action.
    pub(crate) fn proved(&self, browser: &Browser, purpose: &str) -> Browser {
        browser.with("X-StepUp-Token", &self.proof(browser, purpose))
    }
}
