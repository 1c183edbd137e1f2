//! `/api/settings/users/invitations`: invites several users at once.

use std::{collections::HashSet, time::Duration};

use actix_web::post;
use audit::{Audited, Event, events::users::UserInvited};
use directory::{LinkKind, NewPerson, PeopleStore, Person, Role, create_person};
use futures_util::{StreamExt, stream};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::ManageUsers,
    step_up::{OptionalStepUp, UserAdminChange},
};
use kernel::{Ctx, Email};
use serde::{Deserialize, Serialize};
use sign_in::reset::issue_link;
use store::Tx;
use tokens::RawToken;
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;

use super::{consume_for_role, may_receive_links, require_for_role};
use crate::{
    api::{Answer, Call, openapi::values},
    people::{count_mails, deliver, invitations},
};

/// Maximum number of addresses per request.
const MAX_EMAILS: usize = 100;
/// Mails that are sent concurrently.
const MAILS_AT_ONCE: usize = 8;
/// Time limit of all mails together.
const MAIL_LIMIT: Duration = Duration::from_secs(25);

const TAKEN: &str = "Another user of this tenant has this address.";
const NOT_SENT: &str =
    "The mail may not have been sent. If it does not arrive, create a link on the user's page.";

/// The users to invite.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InvitationsBody {
    /// The addresses. Repeated ones count once.
    #[schema(value_type = Vec<values::EmailAddress>, min_items = 1, max_items = 100)]
    emails: Vec<String>,
    /// The name of a built-in role, or `role_…`. Default: `MEMBER`; others require the permission `manage:roles`.
    #[schema(value_type = Option<values::UserRole>)]
    role: Option<Role>,
}

/// The outcome for one address.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct InvitationOutcome {
    email: String,
    /// `usr_…`; absent if no user was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    user_id: Option<String>,
    /// Link to set a password. Shown once, and only if it was not sent by mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    link: Option<String>,
    /// Why the address was not invited. With `userId`, the user was created, but the mail may not have been sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
}

impl InvitationOutcome {
    fn refused(email: String, user_id: Option<String>, error: &str) -> Self {
        Self { email, user_id, link: None, error: Some(error.to_owned()) }
    }
}

/// The outcomes, in the order of the addresses.
#[derive(Serialize, ToSchema)]
struct InvitationOutcomes {
    invitations: Vec<InvitationOutcome>,
}

/// A user who was created, or the address that another user has.
enum Created {
    User(Box<Person>, RawToken),
    Taken(Email),
}

impl Created {
    fn recipient(&self) -> Option<&Email> {
        match self {
            Self::User(person, _) => person.email.as_ref(),
            Self::Taken(_) => None,
        }
    }
}

/// Invite several users
///
/// Like inviting each user alone, in one transaction and with one step-up (`USER_ADMIN_CHANGE`) for all
/// administrators. Addresses that other users have are reported in their outcome; the others are invited. Outcomes are
/// in the order of the addresses.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The outcome of each invitation.", body = InvitationOutcomes),
        (status = 400, description = "An address is malformed, or their number is not between 1 and 100. Nobody is invited."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 403, description = "CREDENTIAL_KIND: a personal access token cannot invite administrators, and no user at all if mail is not configured."),
        (status = 429, description = "RATE_LIMITED, with header Retry-After: too many mails of the tenant or to one of the addresses. Nobody is invited."),
    )
)]
#[post("/api/settings/users/invitations")]
pub(crate) async fn invite_users(
    call: Call<ManageUsers>,
    proof: OptionalStepUp<UserAdminChange>,
    body: Result<Json<InvitationsBody>, Problem>,
) -> Answer {
    may_receive_links(&call)?;
    let InvitationsBody { emails, role } = body?.0;
    let (emails, role) = (distinct(&emails)?, role.unwrap_or(Role::Member));
    require_for_role(&call, &role, &proof)?;
    let (by, site) = (call.caller().roles().clone(), call.site.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = consume_for_role(ctx, tx, &by, &role, &proof).await?;
        let mut events = consumed.events()?;
        let (created, invited) = create_all(ctx, tx, emails, role, site.mail.is_some()).await?;
        let recipients = || created.iter().filter_map(Created::recipient);
        count_mails(&site, ctx, tx, |tenant| invitations(tenant, recipients())).await?;
        events.extend(invited);
        Ok::<_, Problem>(Audited::of_changes(created, events))
    };
    let created = call.write(work).await?;
    let deadline = Instant::now() + MAIL_LIMIT;
    let outcomes = stream::iter(created).map(|created| outcome(&call, created, deadline));
    Ok(answer(&InvitationOutcomes { invitations: outcomes.buffered(MAILS_AT_ONCE).collect().await }))
}

/// Creates the users with their links. Addresses that other users have are left out.
async fn create_all(
    ctx: &Ctx,
    tx: &mut Tx,
    emails: Vec<Email>,
    role: Role,
    sent: bool,
) -> Result<(Vec<Created>, Vec<Event>), Problem> {
    let (mut created, mut events) = (Vec::new(), Vec::new());
    let mut numbered: Vec<_> = emails.into_iter().enumerate().collect();
    // A fixed order prevents deadlocks between concurrent invitations of the same addresses.
    numbered.sort_by_cached_key(|(_, email)| email.key());
    for (number, email) in numbered {
        if tx.user_of_email(&email.key()).await?.is_some() {
            created.push((number, Created::Taken(email)));
            continue;
        }
        let new = NewPerson { email: email.clone(), role: role.clone(), display_name: None };
        match create_person(ctx, tx, new).await {
            Ok(person) => {
                let link = issue_link(ctx, tx, &person, LinkKind::Invitation).await?;
                events.push(Event::new(person.id.as_str(), &UserInvited { role: role.to_string(), sent }));
                created.push((number, Created::User(Box::new(person), link)));
            }
            Err(directory::Error::EmailTaken(_)) => created.push((number, Created::Taken(email))),
            Err(error) => return Err(error.into()),
        }
    }
    created.sort_unstable_by_key(|(number, _)| *number);
    Ok((created.into_iter().map(|(_, created)| created).collect(), events))
}

/// Parses the addresses and drops repeated ones.
fn distinct(emails: &[String]) -> Result<Vec<Email>, Problem> {
    if emails.is_empty() || emails.len() > MAX_EMAILS {
        return Err(Problem::invalid_request(format!("emails: must have 1 to {MAX_EMAILS} addresses")));
    }
    let mut seen = HashSet::new();
    let mut distinct = Vec::new();
    for (position, text) in emails.iter().enumerate() {
        let parsed = text.trim().parse::<Email>();
        let email = parsed.map_err(|_| {
            Problem::invalid_request(format!("emails[{position}]: {text:?} is not an email address"))
        })?;
        if seen.insert(email.key()) {
            distinct.push(email);
        }
    }
    Ok(distinct)
}

/// Sends the invitation of a user, and returns the outcome.
async fn outcome(call: &Call<ManageUsers>, created: Created, deadline: Instant) -> InvitationOutcome {
    let (person, link) = match created {
        Created::User(person, link) => (person, link),
        Created::Taken(email) => return InvitationOutcome::refused(email.to_string(), None, TAKEN),
    };
    let (email, user_id) = (person.user_name.clone(), person.id.to_string());
    let cause = match send(call, person, link, deadline).await {
        Ok(link) => return InvitationOutcome { email, user_id: Some(user_id), link, error: None },
        Err(cause) => cause,
    };
    let ctx = call.ctx();
    tracing::error!(
        tenant = ctx.tenant.as_str(),
        request_id = ctx.request_id,
        user = user_id,
        cause,
        "cannot send an invitation"
    );
    InvitationOutcome::refused(email, Some(user_id), NOT_SENT)
}

/// Sends the link by mail, or returns it if mail is not configured. A mail that was begun is finished after the deadline,
/// because a cancelled one would leave its connection to the mail server in the middle of a message.
async fn send(
    call: &Call<ManageUsers>,
    person: Box<Person>,
    link: RawToken,
    deadline: Instant,
) -> Result<Option<String>, String> {
    if Instant::now() >= deadline {
        return Err("the mails before it took too long".to_owned());
    }
    let site = call.site.clone();
    let sending =
        actix_web::rt::spawn(async move { deliver(&site, &person, LinkKind::Invitation, link).await });
    match timeout_at(deadline, sending).await {
        Ok(Ok(sent)) => sent.map_err(|problem| format!("{problem:?}")),
        Ok(Err(panicked)) => Err(panicked.to_string()),
        Err(_) => Err("the mail server did not answer in time".to_owned()),
    }
}
