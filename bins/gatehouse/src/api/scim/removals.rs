//! Removals of users, which are held while they exceed the tenant's limit.

use audit::Audited;
use directory::{Message, Permission, Person, TenantStore};
use gate::{
    errors::{Problem, ScimProblem},
    permissions::ScimWrite,
};
use kernel::{Ctx, StoreResult, UserId};
use scim_core::User;
use sign_in::removals::hold;
use tokens::{
    ScimToken, ScimTokenId,
    removals::{Removal, RemovalKind, RemovalStore},
};

use super::target::Target;
use crate::api::{Call, Site};

/// Maximum number of administrators who get a message.
const RECIPIENTS: u32 = 50;

/// A removal that was held, and the message to administrators if it has paused the token.
pub(super) struct HeldRemoval(Option<Notice>);

struct Notice {
    tenant: String,
    removed: u64,
    recipients: Vec<Person>,
}

/// Decides whether the caller's token may remove this user. Returns `None` if it may, and always in a dry run; otherwise
/// commit the result.
pub(super) async fn hold_removal(
    ctx: &Ctx,
    target: &mut Target<'_>,
    token: &ScimTokenId,
    (user, kind): (&User, RemovalKind),
) -> StoreResult<Option<Audited<HeldRemoval>>> {
    let Some(tx) = target.tx() else { return Ok(None) };
    let removal = Removal { user: user.id.clone(), was_active: user.active, created: user.created, kind };
    let Some(audited) = hold(ctx, tx, token, &removal).await? else { return Ok(None) };
    let (refused, events) = audited.into_parts();
    let notice = match refused.pausing {
        None => None,
        Some(removed) => Some(Notice {
            tenant: tx.own_tenant().await?.map(|tenant| tenant.name).unwrap_or_default(),
            removed,
            recipients: tx.users_with_permission(Permission::ManageConnections, RECIPIENTS).await?,
        }),
    };
    Ok(Some(Audited::of_changes(HeldRemoval(notice), events)))
}

/// Withdraws the held removal of a user that the directory sends as active again.
pub(super) async fn withdraw(target: &mut Target<'_>, token: &ScimToken, user: &UserId) -> StoreResult<()> {
    if let (Some(tx), Some(_)) = (target.tx(), token.removals_paused_at) {
        tx.drop_held_removal(&token.id, user).await?;
    }
    Ok(())
}

/// Refuses the request whose removal was held. If it has paused the token, logs that and tells administrators by mail,
/// after the response.
pub(super) fn refuse(call: &Call<ScimWrite>, HeldRemoval(notice): HeldRemoval) -> ScimProblem {
    let page = page(&call.site);
    if let Some(Notice { tenant, removed, recipients }) = notice {
        let (token, site, about) = (call.caller(), call.site.clone(), call.tenant().clone());
        tracing::warn!(
            tenant = call.tenant().as_str(),
            token = token.id.as_str(),
            removed,
            "paused the removals of a SCIM token, because they exceed the limit"
        );
        let message = Message::removals_paused(&tenant, &token.name, removed, &page);
        call.in_background(async move {
            if let Some(mail) = &site.mail {
                mail.notify(about.as_str(), &recipients, &message).await;
            }
        });
    }
    let message = format!(
        "Too many users were deactivated or deleted with this token within an hour. Further removals are held until an \
         administrator decides at {page}."
    );
    Problem::forbidden("REMOVALS_PAUSED", message).into()
}

fn page(site: &Site) -> String {
    format!("{}{}", site.pipeline.base_url.trim_end_matches('/'), crate::pages::SCIM)
}
