//! `gatehouse token`

mod dry_runs;
mod listing;
mod removals;

use std::{io::Read, sync::Arc};

use audit::Audited;
use clap::Subcommand;
use credentials::SignInStore;
use kernel::{Email, Env, Id, Kind};
use serde_json::json;
use sign_in::{administration, pats};
use tokens::{NewScimToken, PatId, RawToken, ScimTokenId, Scope, pat::NewPat};

use super::{operator::Operator, report::Report, report::Result};
use crate::config::Raw;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Create a SCIM token and print it once
    #[command(after_help = "Example:\n  gatehouse token scim --tenant acme --name Okta")]
    Scim {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
        /// Name of the token
        #[arg(long)]
        name: String,
        /// Answer 409 instead of 200 if a created user already exists, as the validators of Okta and Entra expect
        #[arg(long)]
        create_conflict: bool,
        /// Only simulate changes; `gatehouse token dry-run` tells what they would change
        #[arg(long)]
        dry_run: bool,
    },
    /// Show what the requests of a SCIM token with --dry-run would change
    #[command(after_help = "Example:\n  gatehouse token dry-run --id sct_01jz4444444444444444444444")]
    DryRun {
        /// ID of the token
        #[arg(long)]
        id: ScimTokenId,
    },
    /// Create a personal access token and print it once
    #[command(
        after_help = "Example:\n  gatehouse token pat --tenant acme --email ada@example.com --name CI --scopes read:hcm --expires-in-days 90"
    )]
    Pat {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
        /// Email address of the user it acts as
        #[arg(long)]
        email: Email,
        /// Name of the token
        #[arg(long)]
        name: String,
        /// Scopes, separated by commas: read:profile, write:profile, read:hcm, write:hcm, admin:tenant
        #[arg(long, value_delimiter = ',', required = true)]
        scopes: Vec<Scope>,
        /// Days until the token expires
        #[arg(long)]
        expires_in_days: Option<i64>,
    },
    /// Revoke a token; its next request is refused
    #[command(after_help = "Example:\n  gatehouse token revoke --id sct_01jz4444444444444444444444")]
    Revoke {
        /// ID of the token: sct_… or ptk_…
        #[arg(long)]
        id: String,
    },
    /// List a tenant's SCIM tokens, or the personal access tokens of a user
    #[command(
        after_help = "Examples:\n  gatehouse token list --tenant acme\n  gatehouse token list --tenant acme --email ada@example.com"
    )]
    List {
        /// Slug of the tenant
        #[arg(long)]
        tenant: String,
        /// User whose personal access tokens are listed [default: list SCIM tokens]
        #[arg(long)]
        email: Option<Email>,
    },
    /// List the removals of users that a paused SCIM token waits to make, apply them, or discard them
    #[command(
        after_help = "Examples:\n  gatehouse token removals --id sct_01jz4444444444444444444444\n  gatehouse token removals --id sct_01jz4444444444444444444444 --discard"
    )]
    Removals {
        /// ID of the token
        #[arg(long)]
        id: ScimTokenId,
        /// Deactivate and delete the users, except administrators, and end the pause
        #[arg(long, conflicts_with = "discard")]
        apply: bool,
        /// Keep the users and end the pause
        #[arg(long)]
        discard: bool,
    },
    /// Decode a token from standard input without looking it up
    #[command(after_help = "Example:\n  gatehouse token inspect < token.txt")]
    Inspect,
}

pub(crate) async fn run(command: Command, raw: &mut Raw, env: Arc<dyn Env>) -> Result<Report> {
    match command {
        Command::Inspect => inspect(),
        Command::Scim { tenant, name, create_conflict, dry_run } => {
            let office = Operator::open(raw, env).await?;
            mint(&office, &tenant, NewScimToken { name, create_conflict, dry_run }).await
        }
        Command::Pat { tenant, email, name, scopes, expires_in_days } => {
            let office = Operator::open(raw, env).await?;
            mint_pat(&office, &tenant, &email, NewPat { name, scopes, expires_in_days }).await
        }
        Command::List { tenant, email } => {
            let office = Operator::open(raw, env).await?;
            match email {
                None => listing::scim_tokens(&tenant, &office).await,
                Some(email) => listing::personal_tokens(&tenant, &email, &office).await,
            }
        }
        Command::DryRun { id } => dry_runs::show(&Operator::open(raw, env).await?, &id).await,
        Command::Removals { id, apply, discard } => {
            let office = Operator::open(raw, env).await?;
            match (apply, discard) {
                (true, _) => removals::apply_all(&office, &id).await,
                (_, true) => removals::discard_all(&office, &id).await,
                _ => removals::list(&office, &id).await,
            }
        }
        Command::Revoke { id } => {
            let office = Operator::open(raw, env).await?;
            match (id.parse::<ScimTokenId>(), id.parse::<PatId>()) {
                (Ok(id), _) => revoke(&office, id).await,
                (_, Ok(id)) => revoke_pat(&office, id).await,
                _ => Err("--id: expected the ID of a token, sct_… or ptk_…".into()),
            }
        }
    }
}

async fn mint(office: &Operator, tenant: &str, new: NewScimToken) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let write =
        office.write(&tenant.id, async move |ctx, tx| administration::mint_scim_token(ctx, tx, new).await);
    let (token, raw) = write.await?;
    Ok(minted(&token.id, &raw))
}

async fn mint_pat(office: &Operator, tenant: &str, email: &Email, new: NewPat) -> Result<Report> {
    let (tenant, user) = office.user(tenant, email).await?;
    let write = office.write(&tenant.id, async move |ctx, tx| {
        let new = new.within(&store::pat_limits(&tx.sign_in_policy().await?))?;
        let (pat, raw, event) = pats::mint(ctx, tx, &user, new).await?;
        Ok::<_, tokens::PatError>(Audited::new((pat, raw), event))
    });
    let (pat, raw) = write.await?;
    Ok(minted(&pat.id, &raw))
}

/// Shows a new token, once.
fn minted<K: Kind>(id: &Id<K>, raw: &RawToken) -> Report {
    let json = json!({ "id": id, "token": raw.expose() });
    Report::new(json, format!("Created {id}. Store the token now; it is not shown again:\n{}", raw.expose()))
}

async fn revoke_pat(office: &Operator, id: PatId) -> Result<Report> {
    let owner = office.store.across(async |across| across.tenant_of_pat(&id).await).await?;
    let Some(tenant) = owner else { return Err(tokens::PatError::NotFound.into()) };
    let revoked = id.clone();
    let write =
        office.write(&tenant, async move |ctx, tx| administration::revoke_any_pat(ctx, tx, &revoked).await);
    write.await?;
    Ok(Report::new(json!({ "id": id, "revoked": true }), format!("Revoked {id}")))
}

async fn revoke(office: &Operator, id: ScimTokenId) -> Result<Report> {
    let owner = office.store.across(async |across| across.tenant_of_scim_token(&id).await).await?;
    let Some(tenant) = owner else { return Err(tokens::ScimTokenError::NotFound.into()) };
    let revoked = id.clone();
    let write = office
        .write(&tenant, async move |ctx, tx| administration::revoke_scim_token(ctx, tx, &revoked).await);
    write.await?;
    Ok(Report::new(json!({ "id": id, "revoked": true }), format!("Revoked {id}")))
}

fn inspect() -> Result<Report> {
    let mut text = String::new();
    std::io::stdin().take(4096).read_to_string(&mut text)?;
    let raw = RawToken::parse(text.trim())?;
    let kind = raw.kind().prefix();
    let json = json!({ "kind": kind, "tenantId": raw.tenant() });
    Ok(Report::new(json, format!("A {kind} token of tenant {} with a valid checksum", raw.tenant())))
}
