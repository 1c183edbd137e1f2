//! Subscriptions and the operations on them.

use crate::error::Error;
use crate::store::SubscriptionStore;
use kernel::{Ctx, Id, Kind, StoreResult, Timestamp, not_null};
use serde::{Deserialize, Serialize};

use crate::{
    client::AddressGuard,
    glob::EventFilter,
    secret::{PreviousSecret, SecretKeys, Secrets, SigningSecret},
};

/// Marks ids of subscriptions.
#[derive(Debug, Clone, Copy)]
pub enum SubscriptionKind {}
impl Kind for SubscriptionKind {
    const PREFIX: &'static str = "whk";
}
/// `whk_…`
pub type SubscriptionId = Id<SubscriptionKind>;

/// Maximum number of subscriptions of a tenant.
pub const MAX_SUBSCRIPTIONS: usize = 100;
/// Maximum number of filters of a subscription.
pub const MAX_FILTERS: usize = 50;
/// Maximum length of a name, in characters.
pub const MAX_NAME: usize = 100;
/// Maximum overlap of a secret rotation, in hours.
pub const MAX_OVERLAP_HOURS: u32 = 168;
/// Default overlap of a secret rotation, in hours.
pub const OVERLAP_HOURS: u32 = 24;

/// `GONE`: the receiver answered 410. `FAILING`: no success for five days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = WebhookDisabledReason))]
pub enum DisabledReason {
    /// The receiver responded with 410.
    Gone,
    /// No delivery succeeded for five days.
    Failing,
}

impl DisabledReason {
    /// Returns the code used in the API and in storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "GONE",
            Self::Failing => "FAILING",
        }
    }

    /// Parses the result of [`DisabledReason::as_str`].
    pub fn read(text: &str) -> Option<Self> {
        [Self::Gone, Self::Failing].into_iter().find(|known| known.as_str() == text)
    }
}

/// A URL that receives some events of its tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// `whk_…`
    pub id: SubscriptionId,
    /// The display name.
    pub name: String,
    /// The URL that deliveries are sent to.
    pub url: String,
    /// Filters of event types; never empty.
    pub event_filters: Vec<EventFilter>,
    /// Whether the next event of a subject waits until the previous one was delivered, or given up.
    pub ordered: bool,
    /// Whether deliveries are sent.
    pub enabled: bool,
    /// Why the service disabled it, if it did.
    pub disabled_reason: Option<DisabledReason>,
    /// The generations of its signing secret.
    pub secrets: Secrets,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Subscription {
    /// Returns whether any filter matches this event type.
    pub fn wants(&self, event_type: &str) -> bool {
        self.event_filters.iter().any(|filter| filter.matches(event_type))
    }

    /// Fails if the subscription is disabled.
    pub fn require_enabled(&self) -> Result<(), Error> {
        if self.enabled { Ok(()) } else { Err(Error::Disabled) }
    }

    /// Returns the filters that match none of these types. They are kept, because such events may be added later.
    pub fn idle_filters<'s>(&'s self, types: &'s [&str]) -> impl Iterator<Item = &'s EventFilter> {
        self.event_filters.iter().filter(|filter| !types.iter().any(|known| filter.matches(known)))
    }
}

/// The schema of a name. The host describes it as `TrimmedName`.
#[cfg(feature = "openapi")]
fn name_schema() -> utoipa::openapi::Ref {
    let schema = utoipa::openapi::schema::RefBuilder::new().ref_location_from_schema_name("TrimmedName");
    schema.description(Some("1 to 100 printable characters.")).build()
}

/// The webhook to add.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = WebhookBody))]
pub struct New {
    /// 1 to 100 printable characters.
    #[cfg_attr(feature = "openapi", schema(schema_with = name_schema))]
    pub name: String,
    /// `https` URL at a public address.
    #[cfg_attr(feature = "openapi", schema(format = "uri"))]
    pub url: String,
    /// Up to 50 patterns of event types, each up to 128 characters. Default: all events.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<EventFilter>, max_items = 50))]
    pub event_filters: Vec<String>,
    /// Deliver the events of a subject, such as a user, one after the other. Default: `false`.
    #[serde(default)]
    pub ordered: bool,
}

/// Changes of a webhook.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = WebhookChange))]
pub struct SubscriptionChange {
    /// 1 to 100 printable characters.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(schema_with = name_schema))]
    pub name: Option<String>,
    /// `https` URL at a public address.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, format = "uri"))]
    pub url: Option<String>,
    /// Up to 50 patterns of event types, each up to 128 characters. Empty: all events.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<EventFilter>>, nullable = false, max_items = 50))]
    pub event_filters: Option<Vec<String>>,
    /// Deliver the events of a subject, such as a user, one after the other.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub ordered: Option<bool>,
    /// Whether events are delivered.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub enabled: Option<bool>,
}

/// How to rotate a signing secret.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = RotationBody))]
pub struct Rotation {
    /// Hours in which both secrets sign: 0 to 168.
    #[serde(default = "usual_overlap")]
    #[cfg_attr(feature = "openapi", schema(default = 24, minimum = 0, maximum = 168))]
    pub overlap_hours: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self { overlap_hours: OVERLAP_HOURS }
    }
}

fn usual_overlap() -> u32 {
    OVERLAP_HOURS
}

/// Returns the subscription with this id.
pub async fn find(store: &mut dyn SubscriptionStore, id: &SubscriptionId) -> Result<Subscription, Error> {
    store.subscription(id).await?.ok_or(Error::NotFound)
}

/// Creates a subscription. Its secret is returned only here.
pub async fn create(
    ctx: &Ctx,
    store: &mut dyn SubscriptionStore,
    (guard, keys): (&AddressGuard, &SecretKeys),
    new: New,
) -> Result<(Subscription, SigningSecret), Error> {
    let (name, url) = (checked_name(new.name)?, checked_url(guard, &new.url)?);
    let event_filters = checked_filters(&new.event_filters)?;
    if store.count_subscriptions().await? >= MAX_SUBSCRIPTIONS {
        return Err(Error::TooMany);
    }
    let id = SubscriptionId::new(&*ctx.env);
    let (current, secret) = keys.generate(&*ctx.env, (&ctx.tenant, &id), 1)?;
    let subscription = Subscription {
        id,
        name,
        url,
        event_filters,
        ordered: new.ordered,
        enabled: true,
        disabled_reason: None,
        secrets: Secrets { current, previous: None },
        created_at: ctx.now,
        updated_at: ctx.now,
    };
    store.insert_subscription(&subscription).await?;
    Ok((subscription, secret))
}

/// Changes a subscription. Returns the names of the changed fields.
pub async fn change(
    ctx: &Ctx,
    store: &mut dyn SubscriptionStore,
    guard: &AddressGuard,
    id: &SubscriptionId,
    change: SubscriptionChange,
) -> Result<(Subscription, Vec<&'static str>), Error> {
    let name = change.name.map(checked_name).transpose()?;
    let url = change.url.map(|url| checked_url(guard, &url)).transpose()?;
    let filters = change.event_filters.map(|filters| checked_filters(&filters)).transpose()?;
    let mut subscription = find(store, id).await?;
    let mut changed = Vec::new();
    set(&mut subscription.name, name, "name", &mut changed);
    set(&mut subscription.url, url, "url", &mut changed);
    set(&mut subscription.event_filters, filters, "eventFilters", &mut changed);
    set(&mut subscription.ordered, change.ordered, "ordered", &mut changed);
    set(&mut subscription.enabled, change.enabled, "enabled", &mut changed);
    if !changed.is_empty() {
        if subscription.enabled {
            subscription.disabled_reason = None;
        }
        subscription.updated_at = ctx.now;
        store.update_subscription(&subscription).await?;
    }
    Ok((subscription, changed))
}

fn set<T: PartialEq>(field: &mut T, to: Option<T>, name: &'static str, changed: &mut Vec<&'static str>) {
    if let Some(to) = to.filter(|to| to != field) {
        *field = to;
        changed.push(name);
    }
}

/// Deletes a subscription and returns it as it was.
pub async fn remove(store: &mut dyn SubscriptionStore, id: &SubscriptionId) -> Result<Subscription, Error> {
    let subscription = find(store, id).await?;
    store.delete_subscription(id).await?;
    Ok(subscription)
}

/// Disables a subscription because of its receiver's responses. Returns `None` if it was removed or already disabled.
pub async fn disable(
    ctx: &Ctx,
    store: &mut dyn SubscriptionStore,
    id: &SubscriptionId,
    reason: DisabledReason,
) -> StoreResult<Option<Subscription>> {
    let enabled = store.subscription(id).await?.filter(|subscription| subscription.enabled);
    let Some(mut subscription) = enabled else { return Ok(None) };
    subscription.enabled = false;
    subscription.disabled_reason = Some(reason);
    subscription.updated_at = ctx.now;
    store.update_subscription(&subscription).await?;
    Ok(Some(subscription))
}

/// Generates a new secret, which is returned only here. The previous one signs too for some hours; with an overlap of
/// 0, as after a leak, it stops at once.
pub async fn rotate(
    ctx: &Ctx,
    store: &mut dyn SubscriptionStore,
    keys: &SecretKeys,
    id: &SubscriptionId,
    overlap_hours: u32,
) -> Result<(Subscription, SigningSecret), Error> {
    if overlap_hours > MAX_OVERLAP_HOURS {
        return Err(Error::Overlap);
    }
    let mut subscription = find(store, id).await?;
    if overlap_hours > 0 && subscription.secrets.overlapping(ctx.now).is_some() {
        return Err(Error::RotationUnderWay);
    }
    let number = subscription.secrets.current.number + 1;
    let (next, secret) = keys.generate(&*ctx.env, (&ctx.tenant, id), number)?;
    let generation = std::mem::replace(&mut subscription.secrets.current, next);
    let until = ctx.now.plus_millis(i64::from(overlap_hours) * 3_600_000);
    subscription.secrets.previous = (overlap_hours > 0).then_some(PreviousSecret { generation, until });
    subscription.updated_at = ctx.now;
    store.update_subscription(&subscription).await?;
    Ok((subscription, secret))
}

/// Completes a rotation: only the new secret signs.
pub async fn complete_rotation(
    ctx: &Ctx,
    store: &mut dyn SubscriptionStore,
    id: &SubscriptionId,
) -> Result<Subscription, Error> {
    let mut subscription = find(store, id).await?;
    if subscription.secrets.overlapping(ctx.now).is_none() {
        return Err(Error::NoRotation);
    }
    subscription.secrets.previous = None;
    subscription.updated_at = ctx.now;
    store.update_subscription(&subscription).await?;
    Ok(subscription)
}

fn checked_name(name: String) -> Result<String, Error> {
    let is_fit = (1..=MAX_NAME).contains(&name.chars().count())
        && !name.chars().any(char::is_control)
        && name.trim() == name;
    if is_fit { Ok(name) } else { Err(Error::Name) }
}

fn checked_url(guard: &AddressGuard, url: &str) -> Result<String, Error> {
    let target = guard.target(url)?;
    if guard.check_literal(&target) { Ok(target.as_str().to_owned()) } else { Err(Error::NotPublic) }
}

fn checked_filters(filters: &[String]) -> Result<Vec<EventFilter>, Error> {
    if filters.len() > MAX_FILTERS {
        return Err(Error::Filters);
    }
    if filters.is_empty() {
        return Ok(vec![EventFilter::all()]);
    }
    let one =
        |(index, text): (usize, &String)| text.parse().map_err(|problem| Error::Filter { index, problem });
    filters.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests;
