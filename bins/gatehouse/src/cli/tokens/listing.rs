//! `gatehouse token list`

use kernel::{Email, StoreError, Timestamp};
use serde_json::json;
use store::Tx;
use tokens::{Pat, PatStore, ScimToken, ScimTokenStore, Scope};

use crate::cli::{
    operator::Operator,
    report::{Report, Result, or_hyphen, table},
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
            "createdAt": token.created_at,
            "lastUsedAt": token.last_used_at,
            "revokedAt": token.revoked_at,
        })
    };
    let row = |token: &ScimToken| {
        vec![
            token.name.clone(),
            if token.revoked_at.is_some() { "revoked" } else { "active" }.to_owned(),
            token.created_at.to_string(),
            or_hyphen(token.last_used_at),
            token.id.to_string(),
        ]
    };
    let empty = format!(
        "{0} has no SCIM tokens. Create one with: gatehouse token scim --tenant {0} --name Okta",
        tenant.slug
    );
    let rows = tokens.iter().map(row).collect();
    let lines = table(&["NAME", "STATE", "CREATED", "LAST USED", "ID"], rows, &empty);
    Ok(Report::new(json!({ "tokens": tokens.iter().map(json_of).collect::<Vec<_>>() }), lines))
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
    let row = |token: &Pat| {
        let scopes: Vec<_> = token.scopes.iter().map(|scope: &Scope| scope.as_str()).collect();
        vec![
            token.name.clone(),
            state(token, now).to_owned(),
            scopes.join(","),
            or_hyphen(token.expires_at),
            or_hyphen(token.last_used_at),
            token.id.to_string(),
        ]
    };
    let rows = tokens.iter().map(row).collect();
    let empty = format!("{email} has no personal access tokens.");
    let lines = table(&["NAME", "STATE", "SCOPES", "EXPIRES", "LAST USED", "ID"], rows, &empty);
    Ok(Report::new(json!({ "tokens": tokens.iter().map(json_of).collect::<Vec<_>>() }), lines))
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
