//! `gatehouse webhooks`

use std::{io::Write as _, time::Duration};

use ::webhooks::{
    Attempt, AttemptError, DeliveryId, EventFilter, Outcome, Signer, Signers, SigningKey, SigningSecret,
    client::{AddressGuard, Client, ClientSettings, Target},
};
use audit::{AuditQueryStore, Filter, follow, log::SealStore as _};
use clap::Subcommand;
use directory::Tenant;
use kernel::{StoreError, TenantId};
use serde_json::json;
use store::{Across, Tx, event_payload};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use super::{operator::Operator, report::Result};

/// Interval between two reads.
const EVERY: Duration = Duration::from_millis(250);
/// Milliseconds within which a running server seals an event.
const SEALED_WITHIN: i64 = 5000;
/// Events per read.
const AT_ONCE: usize = 100;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Forward signed events to a program on this machine until Ctrl-C, for development
    ///
    /// Requires a running server on the same database, which seals events about a second after they happen. Events that the
    /// program does not accept are not sent again.
    #[command(
        after_help = "Example:\n  gatehouse webhooks listen --forward http://127.0.0.1:4000/ --events ACCOUNT_USER_CREATED"
    )]
    Listen {
        /// URL to send events to
        #[arg(long, value_name = "URL")]
        forward: String,
        /// Slug of the tenant; optional if there is only one
        #[arg(long)]
        tenant: Option<String>,
        /// Event type patterns, separated by commas
        #[arg(long, value_delimiter = ',', default_value = "*")]
        events: Vec<EventFilter>,
        /// Signing secret, whsec_… [default: a new one each time]
        #[arg(long)]
        secret: Option<String>,
    },
}

pub(crate) async fn run(command: Command, office: &Operator, as_json: bool) -> Result<()> {
    let Command::Listen { forward, tenant, events, secret } = command;
    let tenant = of_slug(office, tenant.as_deref()).await?;
    let secret = match secret {
        Some(text) => {
            SigningSecret::read(&text).ok_or("--secret: expected whsec_ followed by 32 bytes in base64")?
        }
        None => SigningSecret::random(&*office.env),
    };
    let key = SigningKey::random(&*office.env).ok_or("no signing key could be generated")?;
    let public_key = key.public().to_string();
    // The operator may send to any address: access to the database already allows more.
    let everywhere = ["0.0.0.0/0".parse()?, "::/0".parse()?];
    let guard = AddressGuard::new(everywhere.to_vec(), true);
    let target = guard.target(&forward).map_err(|error| format!("--forward: {error}"))?;
    let client = Client::new(guard, ClientSettings::default())?;
    let listener = Listener {
        office,
        tenant: tenant.id,
        events,
        client,
        target,
        signers: Signers { current: Signer { secret, key }, previous: None },
        as_json,
    };
    let next = listener.size().await?;
    print_line(
        as_json,
        &json!({ "tenant": tenant.slug, "forward": listener.target.as_str(), "secret": listener.signers.current.secret.text(), "publicKey": public_key }),
        &format!(
            "Forwarding events of {} to {}\nSigning secret: {}\nPublic key: {public_key}\nPress Ctrl-C to stop",
            tenant.slug,
            listener.target.as_str(),
            listener.signers.current.secret.text()
        ),
    )?;
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        ended = listener.listen(next) => ended,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

/// Returns the tenant with this slug, or the only tenant.
async fn of_slug(office: &Operator, slug: Option<&str>) -> Result<Tenant> {
    let Some(slug) = slug else {
        let some = office.store.across(async |across: &mut Across| across.some_tenants(2).await).await?;
        let [only] = <[Tenant; 1]>::try_from(some).map_err(|some| {
            let problem = if some.is_empty() {
                "no tenants exist; create one with: gatehouse tenant create"
            } else {
                "several tenants exist; name one"
            };
            format!("--tenant: {problem}")
        })?;
        return Ok(only);
    };
    office.tenant(slug).await
}

fn print_line(as_json: bool, json: &serde_json::Value, line: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{}", if as_json { json.to_string() } else { line.to_owned() })?;
    Ok(out.flush()?)
}

/// Sends new events to one URL.
struct Listener<'o> {
    office: &'o Operator,
    tenant: TenantId,
    events: Vec<EventFilter>,
    client: Client,
    target: Target,
    signers: Signers,
    as_json: bool,
}

impl Listener<'_> {
    /// Returns the size of the tenant's sealed log.
    async fn size(&self) -> Result<u64> {
        let read = async |tx: &mut Tx| tx.sealed_size().await;
        Ok(self.office.store.read::<_, StoreError>(self.tenant.clone(), read).await?)
    }

    /// Returns true if an entry has waited so long for its seal that no server can be running.
    async fn waits(&self) -> Result<bool> {
        let read = async |tx: &mut Tx| match tx.unsealed(None, 1).await?.first() {
            Some(oldest) => tx.entry(&oldest.id).await,
            None => Ok(None),
        };
        let oldest = self.office.store.read::<_, StoreError>(self.tenant.clone(), read).await?;
        let latest = self.office.env.now().plus_millis(-SEALED_WITHIN);
        Ok(oldest.is_some_and(|entry| entry.timestamp < latest))
    }

    async fn listen(&self, mut next: u64) -> Result<()> {
        let mut was_told = false;
        loop {
            let from = next;
            let read = async move |tx: &mut Tx| follow(tx, &Filter::default(), from, AT_ONCE).await;
            let followed = self.office.store.read::<_, StoreError>(self.tenant.clone(), read).await?;
            let is_all = followed.entries.len() < AT_ONCE;
            for (_, listed) in followed.entries {
                if self.events.iter().any(|filter| filter.matches(&listed.entry.action)) {
                    self.send(listed.entry).await?;
                }
            }
            next = followed.next;
            if is_all {
                if !was_told && self.waits().await? {
                    was_told = true;
                    eprintln!(
                        "Events are waiting, but no server seals them. Start one on this database: gatehouse serve"
                    );
                }
                sleep(EVERY).await;
            }
        }
    }

    async fn send(&self, entry: audit::StoredEntry) -> Result<()> {
        let event_type = entry.action.clone();
        let (event_id, body) = event_payload(self.tenant.as_str(), entry)?;
        let attempt = Attempt {
            id: DeliveryId::new(&*self.office.env),
            event_id,
            event_type,
            subject: None,
            number: 1,
            is_fresh: true,
            body: Some(body),
        };
        let (now, agent) = (self.office.env.now(), concat!("Gatehouse/", env!("CARGO_PKG_VERSION")));
        let sent =
            ::webhooks::sent(&self.client, self.target.as_str(), &self.signers, &attempt, (now, agent));
        let Outcome { status, error, duration_ms, .. } = sent.await;
        let error = error.map(AttemptError::as_str);
        let outcome =
            status.map(|status| status.to_string()).or(error.map(str::to_owned)).unwrap_or_default();
        print_line(
            self.as_json,
            &json!({
                "id": attempt.event_id,
                "type": attempt.event_type,
                "httpStatus": status,
                "error": error,
                "elapsedMs": duration_ms,
            }),
            &format!("{outcome}  {}  {}  {duration_ms} ms", attempt.event_type, attempt.event_id),
        )
    }
}
