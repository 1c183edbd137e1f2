//! `/api/settings/users`: user management by administrators.

mod act;
pub(crate) mod filter;
pub(crate) mod invitations;
pub(crate) mod resets;
pub(crate) mod saml_subjects;
pub(crate) mod sessions;
pub(crate) mod sign_in_test;
pub(crate) mod tokens;

use actix_web::{delete, get, patch, post};
use audit::{
    Audited, Event,
    events::users::{UserDeleted, UserInvited},
};
use directory::{AccountChanges, HeldRoles, LinkKind, NewPerson, PeopleStore, Permission, Person, Role};
use kernel::{Ctx, Email, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use sign_in::Lockout;
use store::Tx;
use utoipa::ToSchema;

use self::{act::act_on, filter::UserFilter};
use crate::{
    api::{Answer, Call, me::factors::Deleted, openapi::values, people::page},
    people,
};
use gate::{
    body::{Json, answer},
    errors::Problem,
    paging::{Page, PageQuery},
    permissions::{InPerson, ManageUsers, ReadUsers, require_right},
    step_up::{ConsumedStepUp, OptionalStepUp, StepUp, UserAdminChange},
};

/// A user, as administrators see them.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShownUser)]
struct UserView {
    /// `usr_…`
    id: String,
    user_name: String,
    #[schema(required)]
    email: Option<String>,
    #[schema(required)]
    display_name: Option<String>,
    #[schema(required)]
    title: Option<String>,
    #[schema(required)]
    department: Option<String>,
    /// The assigned role: the name of a built-in one, or `role_…`.
    #[schema(value_type = values::UserRole)]
    role: Role,
    /// Whether the user may sign in.
    active: bool,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    /// Link to set a password. Shown once, and only if it was not sent by mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    link: Option<String>,
}

impl UserView {
    fn of(person: Person, link: Option<String>) -> Self {
        Self {
            id: person.id.to_string(),
            email: person.email.as_ref().map(Email::to_string),
            user_name: person.user_name,
            display_name: person.display_name,
            title: person.title,
            department: person.department,
            role: person.role,
            active: person.active,
            created_at: person.created_at,
            link,
        }
    }
}

/// A page of users.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UserPage {
    users: Vec<UserView>,
    /// Cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<String>,
}

/// The user to invite.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InviteBody {
    #[schema(value_type = values::EmailAddress)]
    email: String,
    /// The name of a built-in role, or `role_…`. Default: `MEMBER`; others require the permission `manage:roles`.
    #[schema(value_type = Option<values::UserRole>)]
    role: Option<Role>,
    #[schema(value_type = Option<values::PersonText>)]
    display_name: Option<String>,
}

/// Changes of a user.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UserBody {
    /// The name of a built-in role, or `role_…`. Requires the permission `manage:roles`.
    #[schema(value_type = Option<values::UserRole>)]
    role: Option<Role>,
    /// Email address of the user.
    #[schema(value_type = Option<values::EmailAddress>)]
    email: Option<String>,
    /// Whether the user may sign in. Deactivating revokes all sessions.
    active: Option<bool>,
}

fn email_of(text: &str) -> Result<Email, Problem> {
    text.trim().parse().map_err(|error| Problem::invalid_request(format!("email: {error}")))
}

/// List users
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(UserFilter, PageQuery),
    responses(
        (status = 200, description = "Oldest first.", body = UserPage),
        (status = 400, description = "INVALID_CURSOR, or a parameter is malformed."),
    )
)]
#[get("/api/settings/users")]
pub(crate) async fn list_settings_users(call: Call<ReadUsers>, query: Page) -> Answer {
    let filter = filter::read(&call.request)?;
    let cost = filter::cost(&filter);
    let (people, next_cursor) = page(&call, filter, cost, &query).await?;
    let users = people.into_iter().map(|person| UserView::of(person, None)).collect();
    Ok(answer(&UserPage { users, next_cursor }))
}

/// Invite a user
///
/// Creates the user, who can sign in after setting a password with the link, within 72 hours. The link is sent by
/// mail if mail is configured; otherwise only this response contains it. A personal access token never receives a
/// link and is refused if mail is not configured. Inviting an administrator requires a session and a step-up
/// (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The user.", body = UserView),
        (status = 400, description = "A field is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 403, description = "CREDENTIAL_KIND: a personal access token cannot invite an administrator, and no user at all if mail is not configured."),
        (status = 409, description = "uniqueness: another user has this address."),
        (status = 429, description = "RATE_LIMITED, with header Retry-After: too many mails of the tenant or to this address."),
    )
)]
#[post("/api/settings/users")]
pub(crate) async fn invite_user(
    call: Call<ManageUsers>,
    proof: OptionalStepUp<UserAdminChange>,
    body: Result<Json<InviteBody>, Problem>,
) -> Answer {
    may_receive_links(&call)?;
    let InviteBody { email, role, display_name } = body?.0;
    let (email, role) = (email_of(&email)?, role.unwrap_or(Role::Member));
    require_for_role(&call, &role, &proof)?;
    let (by, site) = (call.caller().roles().clone(), call.site.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = consume_for_role(ctx, tx, &by, &role, &proof).await?;
        let person = directory::create_person(ctx, tx, NewPerson { email, role, display_name }).await?;
        people::count_mails(&site, ctx, tx, |tenant| people::invitations(tenant, &person.email)).await?;
        let mut events = consumed.events()?;
        let link = sign_in::reset::issue_link(ctx, tx, &person, LinkKind::Invitation).await?;
        events.push(Event::new(
            person.id.as_str(),
            &UserInvited { role: person.role.to_string(), sent: site.mail.is_some() },
        ));
        Ok::<_, Problem>(Audited::of_changes((person, link), events))
    };
    let (person, link) = call.write(work).await?;
    let link = people::deliver(&call.site, &person, LinkKind::Invitation, link).await?;
    Ok(answer(&UserView::of(person, link)))
}

/// Fails unless the caller may assign roles, if the role is another one than MEMBER, and has proved to be there.
fn require_for_role(
    call: &Call<ManageUsers>,
    role: &Role,
    proof: &OptionalStepUp<UserAdminChange>,
) -> Result<(), Problem> {
    if *role == Role::Member {
        return Ok(());
    }
    in_person(call.caller().has_session())?;
    require_right(call.caller().roles(), Permission::ManageRoles)?;
    proof.require()
}

/// Consumes the step-up that assigning a role requires. Fails if the role has permissions that the caller lacks.
async fn consume_for_role(
    ctx: &Ctx,
    tx: &mut Tx,
    by: &HeldRoles,
    role: &Role,
    proof: &OptionalStepUp<UserAdminChange>,
) -> Result<ConsumedStepUp, Problem> {
    if *role == Role::Member {
        return Ok(ConsumedStepUp::none());
    }
    let consumed = proof.lock_and_consume(ctx, tx).await?;
    directory::require_assignable(tx, by, role).await?;
    Ok(consumed)
}

/// Fails if the response would contain an invitation's link and the caller is a personal access token.
fn may_receive_links(call: &Call<ManageUsers>) -> Result<(), Problem> {
    if call.site.mail.is_some() || call.caller().has_session() {
        return Ok(());
    }
    let message = "a personal access token never receives an invitation's link: configure mail (smtp_url), or invite \
                   with a session";
    Err(Problem::forbidden("CREDENTIAL_KIND", message))
}

/// Fails unless the caller has a session: tokens may not do this.
fn in_person(has_session: bool) -> Result<(), Problem> {
    if has_session { Ok(()) } else { Err(Problem::credential_kind()) }
}

/// Get a user
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The user.", body = UserView))
)]
#[get("/api/settings/users/{id}")]
pub(crate) async fn get_settings_user(call: Call<ReadUsers>) -> Answer {
    let id: UserId = call.id()?;
    let person = call.read(async move |_: &Ctx, tx: &mut Tx| directory::find_person(tx, &id).await).await?;
    Ok(answer(&UserView::of(person, None)))
}

/// Update a user
///
/// Changing the role or the address, or deactivating or reactivating an administrator, requires a session and a
/// step-up (`USER_ADMIN_CHANGE`). The last active administrator keeps the role. A request that changes nothing
/// succeeds and writes no audit entry.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The updated user.", body = UserView),
        (status = 400, description = "A field is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "uniqueness; CONFLICT with reason LAST_ADMIN; LOCKOUT_PROTECTION if no administrator could sign in afterwards."),
    )
)]
#[patch("/api/settings/users/{id}")]
pub(crate) async fn patch_settings_user(
    call: Call<ManageUsers>,
    proof: OptionalStepUp<UserAdminChange>,
    body: Json<UserBody>,
) -> Answer {
    let changes = body.0.read()?;
    let has_session = call.caller().has_session();
    let needs_step_up = changes.role.is_some() || changes.email.is_some();
    if needs_step_up {
        in_person(has_session)?;
        if changes.role.is_some() {
            require_right(call.caller().roles(), Permission::ManageRoles)?;
        }
        proof.require()?;
    }
    let id: UserId = call.id()?;
    let (by, site) = (call.caller().roles().clone(), call.site.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        proof.lock_both(tx, &id).await?;
        let (before, is_admin) = find_to_change(tx, &by, &id, &changes).await?;
        let switched = changes.active.is_some_and(|active| active != before.active);
        let spending = if needs_step_up || (switched && is_admin) {
            in_person(has_session)?;
            proof.consume(ctx, tx).await?
        } else {
            ConsumedStepUp::none()
        };
        let lockout = Lockout::before_change_of(tx, &before, site.auth.passkeys_work(), ctx.now).await?;
        let after = directory::change_person(ctx, tx, &before, changes).await?;
        lockout.after(tx, ctx.now).await?;
        let mut events = spending.events()?;
        events.extend(sign_in::account_changes(&before, &after));
        Ok::<_, Problem>(Audited::of_changes(after, events))
    };
    Ok(answer(&UserView::of(call.write(work).await?, None)))
}

/// Finds the user for these changes, and tells whether the user is an administrator. Fails if the changes give a role that
/// the caller may not assign.
async fn find_to_change(
    tx: &mut Tx,
    by: &HeldRoles,
    id: &UserId,
    changes: &AccountChanges,
) -> Result<(Person, bool), Problem> {
    let person = directory::find_to_act_on(tx, by, id).await?;
    if let Some(role) = changes.role.as_ref().filter(|role| **role != person.role) {
        directory::require_assignable(tx, by, role).await?;
    }
    let is_admin = tx.held_roles(&person).await?.is_admin();
    Ok((person, is_admin))
}

impl UserBody {
    fn read(self) -> Result<AccountChanges, Problem> {
        let Self { role, email, active } = self;
        let email = email.map(|email| email_of(&email)).transpose()?;
        Ok(AccountChanges { role, email, active })
    }
}

/// Delete a user
///
/// Requires a session and a step-up (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "Deleted.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason LAST_ADMIN; LOCKOUT_PROTECTION if no administrator could sign in afterwards."),
    )
)]
#[delete("/api/settings/users/{id}")]
pub(crate) async fn delete_settings_user(
    call: Call<InPerson<ManageUsers>>,
    proof: StepUp<UserAdminChange>,
) -> Answer {
    let id: UserId = call.id()?;
    let (by, site) = (call.caller().holder.roles.clone(), call.site.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let act = async |tx: &mut Tx, person: &Person| Ok(directory::delete_person(ctx, tx, person).await?);
        let ((), mut events) = act_on((&by, &id), &proof, &site, ctx, tx, act).await?;
        events.push(Event::new(id.as_str(), &UserDeleted {}));
        Ok::<_, Problem>(Audited::of_changes((), events))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
