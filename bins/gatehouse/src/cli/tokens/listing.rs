//! `gatehouse token list`

use kernel::{Email, StoreError, Timestamp};
use serde_json::json;
use store::Tx;
use tokens::{Pat, PatStore, ScimToken, ScimTokenStore};

use crate::cli::{
    operator::Operator,
    report::{Columns, Report, Result, listing, or_hyphen},
};

pub(super) async fn scim_tokens(tenant: &str, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let read = async |tx: &mut Tx| ScimTokenStore::scim_tokens(tx).await;
    let tokens = office.store.read::<_, StoreError>(tenant.id, read).await?;
    let json_of = |token: &ScimToken| {
        json!({
            "id": token.id,
            "name": token.name,
            "createConflict": token.create_conflict,
            "dryRun": token.dry_run,
            "removalsPausedAt": token.removals_paused_at,
            "createdAt": token.created_at,
            "lastUsedAt": token.last_used_at,
            "revokedAt": token.revoked_at,
        })
    };
    let columns: &Columns<'_, ScimToken> = &[
        ("NAME", &|token| token.name.clone()),
        ("STATE", &|token| scim_state(token).to_owned()),
        ("CREATED", &|token| token.created_at.to_string()),
        ("LAST USED", &|token| or_hyphen(token.last_used_at)),
        ("ID", &|token| token.id.to_string()),
    ];
    let empty = format!(
        "{0} has no SCIM tokens. Create one with: gatehouse token scim --tenant {0} --name Okta",
        tenant.slug
    );
    Ok(listing("tokens", &tokens, json_of, columns, &empty))
}

pub(super) async fn personal_tokens(tenant: &str, email: &Email, office: &Operator) -> Result<Report> {
    let (tenant, user) = office.user(tenant, email).await?;
    let read = async move |tx: &mut Tx| tx.pats_of(&user).await;
    let tokens = office.store.read::<_, StoreError>(tenant.id, read).await?;
    let now = office.env.now();
    let json_of = |token: &Pat| {
        json!({
            "id": token.id,
            "name": token.name,
            "scopes": token.scopes,
            "createdAt": token.created_at,
            "expiresAt": token.expires_at,
            "lastUsedAt": token.last_used_at,
            "revokedAt": token.revoked_at,
        })
    };
    let columns: &Columns<'_, Pat> = &[
        ("NAME", &|token| token.name.clone()),
        ("STATE", &|token| state(token, now).to_owned()),
        ("SCOPES", &|token| token.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(",")),
        ("EXPIRES", &|token| or_hyphen(token.expires_at)),
        ("LAST USED", &|token| or_hyphen(token.last_used_at)),
        ("ID", &|token| token.id.to_string()),
    ];
    let empty = format!("{email} has no personal access tokens.");
    Ok(listing("tokens", &tokens, json_of, columns, &empty))
}

fn scim_state(token: &ScimToken) -> &'static str {
    if token.revoked_at.is_some() {
        "revoked"
    } else if token.removals_paused_at.is_some() {
        "removals paused"
    } else if token.dry_run {
        "dry run"
    } else {
        "active"
    }
}

fn state(token: &Pat, now: Timestamp) -> &'static str {
    if token.revoked_at.is_some() {
        "revoked"
    } else if token.expires_at.is_some_and(|end| end <= now) {
        "expired"
    } else {
        "active"
    }
}
