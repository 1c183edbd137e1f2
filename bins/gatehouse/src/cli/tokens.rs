//! `gatehouse token`

use std::{io::Read, sync::Arc};

use audit::{
    Audited, Event, Unaudited,
    events::{
        pats::PatRevoked,
        scim_tokens::{ScimTokenCreated, ScimTokenRevoked},
    },
};
use clap::Subcommand;
use credentials::SignInStore;
use kernel::{Email, Env};
use serde_json::json;
use tokens::{NewScimToken, PatId, PatStore, RawToken, ScimTokenId, Scope, pat::NewPat};

use super::{operator::Operator, report::Report, report::Result, users::find};
use crate::{api::pat_created, config::Raw};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Mint a SCIM token; the raw token is shown once
    Scim {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
        /// What to call it
        #[arg(long)]
        name: String,
        /// Answer 409 instead of 200 when a user to create exists (Okta's and Entra's validators want it)
        #[arg(long)]
        create_conflict: bool,
    },
    /// Mint a personal access token; the raw token is shown once
    Pat {
        /// The tenant's slug
        #[arg(long)]
        tenant: String,
        /// Whom it acts as
        #[arg(long)]
        email: Email,
        /// What to call it
        #[arg(long)]
        name: String,
        /// read:profile, write:profile, read:hcm, write:hcm, admin:tenant, separated by commas
        #[arg(long, value_delimiter = ',', required = true)]
        scopes: Vec<Scope>,
        /// Days until it ends
        #[arg(long)]
        expires_in_days: Option<i64>,
    },
    /// Revoke a token: the next request with it is refused
    Revoke {
        /// The token's id, sct_… or ptk_…
        #[arg(long)]
        id: String,
    },
    /// Say what a raw token on standard input is; nothing is looked up
    Inspect,
}

pub(crate) async fn run(command: Command, raw: &mut Raw, env: Arc<dyn Env>) -> Result<Report> {
    match command {
        Command::Inspect => inspect(),
        Command::Scim { tenant, name, create_conflict } => {
            let office = Operator::open(raw, env).await?;
            mint(&office, &tenant, NewScimToken { name, create_conflict }).await
        }
        Command::Pat { tenant, email, name, scopes, expires_in_days } => {
            let office = Operator::open(raw, env).await?;
            mint_pat(&office, &tenant, &email, NewPat { name, scopes, expires_in_days }).await
        }
        Command::Revoke { id } => {
            let office = Operator::open(raw, env).await?;
            match (id.parse::<ScimTokenId>(), id.parse::<PatId>()) {
                (Ok(id), _) => revoke(&office, id).await,
                (_, Ok(id)) => revoke_pat(&office, id).await,
                _ => Err("--id: write sct_… or ptk_…".into()),
            }
        }
    }
}

async fn mint(office: &Operator, tenant: &str, new: NewScimToken) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let write = office.write(&tenant.id, async move |ctx, tx| {
        let (token, raw) = tokens::mint(ctx, tx, new).await?;
        let data = ScimTokenCreated { create_conflict: token.create_conflict };
        let event = Event::new(token.id.as_str(), &data);
        Ok::<_, tokens::ScimTokenError>(Audited::new((token, raw), event))
    });
    let (token, raw) = write.await?;
    let json = json!({ "id": token.id, "token": raw.expose() });
    Ok(Report::new(json, format!("{} is shown once:\n{}", token.id, raw.expose())))
}

async fn mint_pat(office: &Operator, tenant: &str, email: &Email, new: NewPat) -> Result<Report> {
    let (tenant, user) = find(office, tenant, email).await?;
    let write = office.write(&tenant.id, async move |ctx, tx| {
        let new = new.within(&store::pat_limits(&tx.sign_in_policy().await?))?;
        let (pat, raw) = tokens::pat::mint(ctx, tx, &user, new).await?;
        let event = Event::new(pat.id.as_str(), &pat_created(&pat));
        Ok::<_, tokens::PatError>(Audited::new((pat, raw), event))
    });
    let (pat, raw) = write.await?;
    let json = json!({ "id": pat.id, "token": raw.expose() });
    Ok(Report::new(json, format!("{} is shown once:\n{}", pat.id, raw.expose())))
}

async fn revoke_pat(office: &Operator, id: PatId) -> Result<Report> {
    let owner = office.store.across(async |across| across.tenant_of_pat(&id).await).await?;
    let Some(tenant) = owner else { return Err(tokens::PatError::NotFound.into()) };
    let revoked = id.clone();
    let write = office.write(&tenant, async move |ctx, tx| {
        let Some(pat) = tx.pat(&revoked).await? else { return Err(tokens::PatError::NotFound) };
        if pat.revoked_at.is_some() {
            return Ok(Audited::without((), Unaudited::NothingChanged));
        }
        tokens::pat::revoke(ctx, tx, &pat.user, &revoked).await?;
        let event = Event::new(revoked.as_str(), &PatRevoked { user: pat.user.to_string() });
        Ok::<_, tokens::PatError>(Audited::new((), event))
    });
    write.await?;
    Ok(Report::new(json!({ "id": id, "revoked": true }), format!("{id} is revoked")))
}

async fn revoke(office: &Operator, id: ScimTokenId) -> Result<Report> {
    let owner = office.store.across(async |across| across.tenant_of_scim_token(&id).await).await?;
    let Some(tenant) = owner else { return Err(tokens::ScimTokenError::NotFound.into()) };
    let revoked = id.clone();
    let write = office.write(&tenant, async move |ctx, tx| {
        tokens::revoke(ctx, tx, &revoked).await?;
        Ok::<_, tokens::ScimTokenError>(Audited::new((), Event::new(revoked.as_str(), &ScimTokenRevoked {})))
    });
    write.await?;
    Ok(Report::new(json!({ "id": id, "revoked": true }), format!("{id} is revoked")))
}

fn inspect() -> Result<Report> {
    let mut text = String::new();
    std::io::stdin().take(4096).read_to_string(&mut text)?;
    let raw = RawToken::parse(text.trim())?;
    let kind = raw.kind().prefix();
    let json = json!({ "kind": kind, "tenantId": raw.tenant() });
    Ok(Report::new(json, format!("a {kind} token of tenant {}; its checksum fits", raw.tenant())))
}
