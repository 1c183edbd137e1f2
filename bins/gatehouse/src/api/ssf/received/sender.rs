//! The transmitter of a request.

use audit::{Event, events::signals::SignalRefused};
use gate::{access::Visitor, errors::Problem};
use kernel::{Actor, TenantId};
use saml_sp::ProviderId;
use signals::{Refusal, TransmitterId, TransmitterStore as _, TrustedTransmitter};
use store::Tx;

use crate::api::{Site, generated_id, ssf::connection::connection_of};

/// The transmitter that a request claims to come from.
pub(super) struct Sender<'a> {
    pub(super) site: &'a Site,
    pub(super) visitor: &'a Visitor,
    pub(super) tenant: TenantId,
    pub(super) transmitter: TrustedTransmitter,
    /// The SSO connection of its users, with the issuer or entity ID of the identity provider. `None`: it was removed.
    pub(super) connection: Option<(ProviderId, String)>,
}

impl<'a> Sender<'a> {
    /// Finds the transmitter of a URL, or fails with 404.
    pub(super) async fn find(
        site: &'a Site,
        visitor: &'a Visitor,
        (tenant, id): &(String, String),
    ) -> Result<Self, Problem> {
        let tenant: TenantId = generated_id(tenant)?;
        let id: TransmitterId = id.parse().map_err(|_| Problem::not_found())?;
        let find = async move |tx: &mut Tx| {
            let transmitter = tx.transmitter(&id).await?.ok_or_else(Problem::not_found)?;
            let connection = connection_of(tx, &transmitter.connection).await?;
            Ok::<_, Problem>((transmitter, connection))
        };
        let (transmitter, connection) = visitor.read(&tenant, find).await?;
        Ok(Self { site, visitor, tenant, transmitter, connection })
    }

    /// Returns the transmitter as the actor of audit entries.
    pub(super) fn actor(&self) -> Actor {
        Actor::system(self.transmitter.id.to_string())
    }

    /// Logs a refusal, and adds its audit entry to a problem.
    pub(super) fn refused(&self, problem: Problem, refusal: &Refusal) -> Problem {
        let transmitter = self.transmitter.id.as_str();
        tracing::info!(
            request_id = self.visitor.request_id(),
            tenant = self.tenant.as_str(),
            transmitter,
            reason = refusal.reason.as_str(),
            "a token of a transmitter was refused"
        );
        let (reason, detail) = (refusal.reason.as_str().to_owned(), refusal.detail.clone());
        let event = Event::new(transmitter, &SignalRefused { reason, detail, suppressed: None });
        let ctx = self.visitor.ctx(&self.tenant, self.actor());
        problem.with_event_as(&ctx, event)
    }
}
