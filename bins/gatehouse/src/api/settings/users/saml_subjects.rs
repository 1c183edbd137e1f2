//! `/api/settings/users/{id}/saml-subjects`: subjects of identity providers that are pinned to a user.

use actix_web::{delete, get, web};
use kernel::{Ctx, Timestamp, UserId};
use saml_sp::{PinnedSubject, ProviderId, SubjectStore};
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, me::factors::Deleted};
use gate::{
    body::answer,
    errors::Problem,
    permissions::{InPerson, ManageConnections},
    step_up::{StepUp, UserAdminChange},
};

/// A persistent NameID, or a subject of an OpenID provider, that is pinned to a user.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlSubject)]
struct SubjectView {
    /// `sso_…` or `oidc_…`
    provider_id: String,
    /// First characters of the SHA-256 of the NameID, or of issuer and subject, as in audit entries.
    subject: String,
    /// When the user first signed in with it.
    #[schema(value_type = String, format = "date-time")]
    pinned_at: Timestamp,
}

impl From<PinnedSubject> for SubjectView {
    fn from(pinned: PinnedSubject) -> Self {
        Self {
            provider_id: pinned.provider.to_string(),
            subject: pinned.subject.to_string(),
            pinned_at: pinned.pinned_at,
        }
    }
}

/// NameIDs pinned to a user.
#[derive(Serialize, ToSchema)]
#[schema(as = SamlSubjectList)]
struct SubjectList {
    /// At most one for each identity provider.
    subjects: Vec<SubjectView>,
}

/// List the persistent NameIDs of a user
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "One NameID per identity provider.", body = SubjectList),
        (status = 404, description = "The tenant has no user with this ID."),
    )
)]
#[get("/api/settings/users/{id}/saml-subjects")]
pub(crate) async fn list_saml_subjects(call: Call<ManageConnections>) -> Answer {
    let id: UserId = call.id()?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        directory::find_person(tx, &id).await?;
        Ok::<_, Problem>(tx.pinned_subjects(&id).await?)
    };
    let subjects = call.read(work).await?.into_iter().map(SubjectView::from).collect();
    Ok(answer(&SubjectList { subjects }))
}

/// Remove the pinned subject of a user
///
/// Use it after the identity provider renamed the user (`SUBJECT_CHANGED`): the next sign-in pins the NameID or
/// subject that the identity provider then sends. Requires a step-up (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(
        ("ssoId" = String, Path, description = "sso_… or oidc_…"),
    ),
    responses(
        (status = 200, description = "Removed.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 404, description = "The user has no pinned subject for this SSO connection."),
    )
)]
#[delete("/api/settings/users/{id}/saml-subjects/{ssoId}")]
pub(crate) async fn delete_saml_subject(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<UserAdminChange>,
    ids: web::Path<(String, String)>,
) -> Answer {
    let (user, provider) = ids.into_inner();
    let user: UserId = user.parse().map_err(|_| Problem::not_found())?;
    let provider: ProviderId = provider.parse().map_err(|_| Problem::not_found())?;
    let by = call.caller().holder.roles.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_both_and_consume(ctx, tx, &user).await?;
        directory::find_to_act_on(tx, &by, &user).await?;
        let unpinned = sign_in::sso::unpin_subject(tx, &provider, &user).await?;
        Ok::<_, Problem>(unpinned.ok_or_else(Problem::not_found)?.with(spending.events()?))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
