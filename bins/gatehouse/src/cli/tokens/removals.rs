//! `gatehouse token removals`

use kernel::{Ctx, TenantId, Timestamp};
use serde_json::json;
use sign_in::removals::{Decision, Error, Progress, apply_some, decide_to_apply, discard};
use store::Tx;
use tokens::{
    ScimTokenId,
    removals::{HeldRemoval, RemovalStore},
};

use crate::cli::{
    operator::Operator,
    report::{Columns, Report, Result, listing},
};

/// Number of users that are listed, or removed in one transaction.
const BATCH: u32 = 50;

async fn tenant_of(office: &Operator, id: &ScimTokenId) -> Result<TenantId> {
    let owner = office.store.across(async |across| across.tenant_of_scim_token(id).await).await?;
    owner.ok_or_else(|| tokens::ScimTokenError::NotFound.into())
}

/// Lists held removals with the names of the users.
pub(super) async fn list(office: &Operator, id: &ScimTokenId) -> Result<Report> {
    let tenant = tenant_of(office, id).await?;
    let token = id.clone();
    let read = async move |tx: &mut Tx| {
        let state = tx.removal_state(&token).await?.ok_or(Error::NotFound)?;
        let mut removals: Vec<(HeldRemoval, String)> = Vec::new();
        loop {
            let after = removals.last().map(|(held, _)| held.user.clone());
            let held = tx.held_removals(&token, after.as_ref(), BATCH).await?;
            let is_last = held.len() < BATCH as usize;
            let ids: Vec<_> = held.iter().map(|one| one.user.clone()).collect();
            let people = tx.people_of(&ids).await?;
            removals.extend(held.into_iter().map(|one| {
                let person = people.iter().find(|person| person.id == one.user);
                let name = person.map_or_else(|| "(deleted)".to_owned(), |person| person.user_name.clone());
                (one, name)
            }));
            if is_last {
                return Ok::<_, Error>((state.paused_at, removals));
            }
        }
    };
    let (paused_at, removals) = office.store.read(tenant, read).await?;
    let json_of = |(held, name): &(HeldRemoval, String)| {
        json!({
            "userId": held.user,
            "userName": name,
            "action": held.kind.as_str(),
            "requestedAt": held.at,
        })
    };
    let columns: &Columns<'_, (HeldRemoval, String)> = &[
        ("USER NAME", &|(_, name)| name.clone()),
        ("ACTION", &|(held, _)| held.kind.as_str().to_owned()),
        ("REQUESTED", &|(held, _)| held.at.to_string()),
        ("ID", &|(held, _)| held.user.to_string()),
    ];
    Ok(listing("removals", &removals, json_of, columns, &empty(paused_at)))
}

fn empty(paused_at: Option<Timestamp>) -> String {
    match paused_at {
        None => "The removals of this token are not paused.".to_owned(),
        Some(at) => format!("The removals of this token have been paused since {at}, and none are held."),
    }
}

/// Keeps the users whose removals are held.
pub(super) async fn discard_all(office: &Operator, id: &ScimTokenId) -> Result<Report> {
    let tenant = tenant_of(office, id).await?;
    let token = id.clone();
    let discarded = office.write(&tenant, async move |_, tx| discard(tx, &token).await).await?;
    let json = json!({ "id": id, "discarded": discarded });
    Ok(Report::new(json, format!("Discarded {discarded} removals. The users stay.")))
}

/// Removes the users whose removals are held.
pub(super) async fn apply_all(office: &Operator, id: &ScimTokenId) -> Result<Report> {
    let tenant = tenant_of(office, id).await?;
    let decision = Decision { token: id.clone(), until: office.env.now(), by: None };
    let decided = decision.clone();
    let decide = async move |_: &Ctx, tx: &mut Tx| decide_to_apply(tx, &decided.token, decided.until).await;
    office.write(&tenant, decide).await?;
    let mut progress = Progress::default();
    while !progress.is_done {
        let decision = decision.clone();
        let apply = async move |ctx: &Ctx, tx: &mut Tx| apply_some(ctx, tx, &decision, progress, BATCH).await;
        progress = office.write(&tenant, apply).await?;
    }
    let json = json!({ "id": id, "removed": progress.removed, "kept": progress.kept });
    let text = format!("Removed {} users and kept {} administrators.", progress.removed, progress.kept);
    Ok(Report::new(json, text))
}
