//! The page of a user.

use std::collections::HashMap;

use askama::Template;
use audit::{Filter, ListedEntry};
use credentials::{Factor, FactorStore, SignInStore};
use directory::{HeldRoles, OwnRole, PeopleStore, Permission as Right, Person, Role, RoleStore, Source};
use kernel::{Ctx, StoreResult, UserId};
use saml_sp::{PinnedSubject, ProviderId, ProviderStore, SubjectStore};
use scim_core::{Membership, UserStore};
use sessions::Session;
use sign_in::sso::oidc::OidcStore;
use store::Tx;
use tokens::{Pat, PatStore};

use super::super::{
    events::{self, EventRow},
    frame::{Administrator, PageFrame, draw},
    roles::{RoleChoice, role_choices, title_of},
    security::{FactorRow, SessionRow, TokenRow},
    times::PageTime,
};
use super::refusals::{self, RefusalRow};
use crate::api::{Answer, Call};
use gate::{
    access::lifetime,
    errors::Problem,
    permissions::{InPerson, ReadUsers},
};

/// Maximum number of refused sign-ins that the page shows.
const SHOWN: usize = 5;

#[derive(Template)]
#[template(path = "person.html")]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Page<'a> {
    shell: PageFrame<'a>,
    id: String,
    name: &'a str,
    /// Address, user name, job title and department, as far as they differ from the name.
    facts: Vec<String>,
    /// Title of the assigned role, unless it is MEMBER.
    role: Option<String>,
    /// Titles of the roles that rules give.
    given_roles: Vec<String>,
    rights: Rights,
    /// The roles that the viewer may assign, without the present one.
    roles: Vec<RoleChoice>,
    active: bool,
    is_self: bool,
    from_directory: bool,
    created: PageTime,
    has_password: bool,
    factors: Vec<FactorRow>,
    unused_codes: usize,
    connections: Vec<ConnectionRow>,
    sessions: Vec<SessionRow>,
    tokens: Vec<TokenRow>,
    groups: Vec<Membership>,
    events: Vec<EventRow>,
    refusals: Vec<RefusalRow>,
}

/// What the viewer may do with the user's account.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Rights {
    /// Whether the user has permissions that the viewer lacks, so that nothing may be changed.
    is_above: bool,
    support: bool,
    manage: bool,
    assign: bool,
    connections: bool,
    audit: bool,
    refusals: bool,
}

impl Rights {
    fn of(by: &HeldRoles, held: &HeldRoles) -> Self {
        let is_above = !by.may_act_on(held);
        let may = |right| !is_above && by.permissions.contains(right);
        Self {
            is_above,
            support: may(Right::SupportUsers),
            manage: may(Right::ManageUsers),
            assign: may(Right::ManageUsers) && may(Right::ManageRoles),
            connections: may(Right::ManageConnections),
            audit: by.permissions.contains(Right::ReadAudit),
            refusals: reads_refusals(by),
        }
    }
}

/// Returns whether somebody with these roles may see why sign-ins were refused: from the audit log, to support users.
fn reads_refusals(by: &HeldRoles) -> bool {
    [Right::SupportUsers, Right::ReadAudit].iter().any(|right| by.permissions.contains(*right))
}

/// An SSO connection that the user has signed in with.
struct ConnectionRow {
    id: String,
    name: String,
    pinned: PageTime,
}

/// Data that the page reads in one transaction.
struct Found {
    person: Person,
    held: HeldRoles,
    own_roles: Vec<OwnRole>,
    has_password: bool,
    factors: Vec<Factor>,
    unused_codes: usize,
    subjects: Vec<PinnedSubject>,
    /// Names of the SSO connections.
    providers: HashMap<ProviderId, String>,
    sessions: Vec<Session>,
    tokens: Vec<Pat>,
    groups: Vec<Membership>,
    events: Vec<ListedEntry>,
    refused: Vec<ListedEntry>,
}

/// Renders the page of the user with this ID, a part of the page at this path.
pub(super) async fn draw_person(call: &Call<InPerson<ReadUsers>>, id: &str, path: &'static str) -> Answer {
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let policy = call.caller().holder.policy.clone();
    let by = call.caller().holder.roles.clone();
    let (lifetime, reads_audit) = (lifetime(&policy), by.permissions.contains(Right::ReadAudit));
    let shows_refusals = reads_refusals(&by);
    let find = async move |ctx: &Ctx, tx: &mut Tx| {
        let person = directory::find_person(tx, &id).await?;
        let user = tx.user(&id).await?;
        Ok::<_, Problem>(Found {
            held: tx.held_roles(&person).await?,
            own_roles: tx.roles().await?,
            person,
            has_password: tx.password(&id).await?.is_some(),
            factors: tx.factors(&id).await?,
            unused_codes: tx.unused_codes(&id).await?,
            subjects: tx.pinned_subjects(&id).await?,
            providers: names_of_providers(tx).await?,
            sessions: sessions::list(ctx, tx, &id, lifetime).await?,
            tokens: tx.pats_of(&id).await?,
            groups: user.map(|user| user.groups).unwrap_or_default(),
            events: if reads_audit { events::newest(tx, &of_user(&id)).await? } else { Vec::new() },
            refused: if shows_refusals {
                events::newest(tx, &refusals::filters(&id)).await?
            } else {
                Vec::new()
            },
        })
    };
    let found = call.read(find).await?;
    let administrator = Administrator::load(call).await?;
    let own = call.caller().session.clone();
    let (limits, now) = (store::pat_limits(&policy), call.ctx().now);
    let connections = found.connections();
    let person = &found.person;
    draw(&Page {
        shell: administrator.shell(&call.site, person.name(), "person.js", path),
        id: person.id.to_string(),
        name: person.name(),
        facts: facts(person),
        role: (person.role != Role::Member).then(|| title_of(&person.role, &found.own_roles)),
        given_roles: found.held.given.iter().map(|role| title_of(role, &found.own_roles)).collect(),
        rights: Rights::of(&by, &found.held),
        roles: role_choices(&by, &found.own_roles)
            .into_iter()
            .chain([RoleChoice::member()])
            .filter(|choice| choice.id != person.role.as_str())
            .collect(),
        active: person.active,
        is_self: person.id == own.user,
        from_directory: person.source == Source::Scim,
        created: person.created_at.into(),
        has_password: found.has_password,
        factors: FactorRow::all(&call.site, &found.factors, &policy.mfa),
        unused_codes: found.unused_codes,
        connections,
        sessions: found.sessions.iter().map(|session| SessionRow::of(&call.site, session, &own.id)).collect(),
        tokens: TokenRow::all(found.tokens, &limits, now),
        groups: found.groups,
        events: found.events.into_iter().map(EventRow::from).collect(),
        refusals: found.refused.into_iter().filter_map(RefusalRow::of).take(SHOWN).collect(),
    })
}

/// Returns the names of the tenant's SSO connections.
async fn names_of_providers(tx: &mut Tx) -> StoreResult<HashMap<ProviderId, String>> {
    let saml = tx.providers().await?.into_iter().map(|provider| (provider.id, provider.name));
    let mut names: HashMap<_, _> = saml.collect();
    names.extend(tx.oidc_providers().await?.into_iter().map(|provider| (provider.id, provider.name)));
    Ok(names)
}

/// Returns the filters for what the user did, and for what happened to the user.
fn of_user(id: &UserId) -> [Filter; 2] {
    let id = Some(id.to_string());
    [Filter { actor: id.clone(), ..Filter::default() }, Filter { resource_id: id, ..Filter::default() }]
}

/// Returns what the page shows below the name.
fn facts(person: &Person) -> Vec<String> {
    let account = Some(person.account().to_owned()).filter(|account| account != person.name());
    let user_name =
        Some(format!("user name {}", person.user_name)).filter(|_| person.user_name != person.account());
    [account, user_name, person.title.clone(), person.department.clone()].into_iter().flatten().collect()
}

impl Found {
    /// Returns the SSO connections whose subjects are pinned to the user.
    fn connections(&self) -> Vec<ConnectionRow> {
        let row = |pinned: &PinnedSubject| ConnectionRow {
            id: pinned.provider.to_string(),
            name: self
                .providers
                .get(&pinned.provider)
                .map_or(pinned.provider.as_str(), |name| name)
                .to_owned(),
            pinned: pinned.pinned_at.into(),
        };
        self.subjects.iter().map(row).collect()
    }
}
