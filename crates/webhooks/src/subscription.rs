//! Who is told: subscriptions, and how they change.

use crate::error::Error;
use crate::store::SubscriptionStore;
use kernel::{Ctx, Id, Kind, StoreResult, Timestamp};
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

/// Subscriptions of a tenant at most.
pub const MAX_SUBSCRIPTIONS: usize = 100;
/// Filters of a subscription at most.
pub const MAX_FILTERS: usize = 50;
/// Characters of a name at most.
pub const MAX_NAME: usize = 100;
/// Hours that two secrets may sign at most.
pub const MAX_OVERLAP_HOURS: u32 = 168;
/// Hours that they do unless it is said.
pub const OVERLAP_HOURS: u32 = 24;

/// Why a subscription was disabled by the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DisabledReason {
    /// The receiver answered 410.
    Gone,
    /// Nothing succeeded for five days.
    Failing,
}

impl DisabledReason {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "GONE",
            Self::Failing => "FAILING",
        }
    }

    /// As it was written.
    pub fn read(text: &str) -> Option<Self> {
        [Self::Gone, Self::Failing].into_iter().find(|known| known.as_str() == text)
    }
}

/// A URL that is told of some events of its tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// `whk_…`
    pub id: SubscriptionId,
    /// What people call it.
    pub name: String,
    /// Where deliveries are sent to.
    pub url: String,
    /// Which events; never empty.
    pub event_filters: Vec<EventFilter>,
    /// Whether anything is sent.
    pub enabled: bool,
    /// Why not, where the service decided so.
    pub disabled_reason: Option<DisabledReason>,
    /// Generations of its signing secret.
    pub secrets: Secrets,
    /// Creation time.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

impl Subscription {
    /// Whether it is to be told of events of this type.
    pub fn wants(&self, event_type: &str) -> bool {
        self.event_filters.iter().any(|filter| filter.matches(event_type))
    }

    /// Those of its filters that match none of these types: kept, as there may be such an event one day.
    pub fn idle_filters<'s>(&'s self, types: &'s [&str]) -> impl Iterator<Item = &'s EventFilter> {
        self.event_filters.iter().filter(|filter| !types.iter().any(|known| filter.matches(known)))
    }
}

/// What is asked of a new subscription.
#[derive(Debug, Clone)]
pub struct New {
    /// 1 to 100 printable characters.
    pub name: String,
    /// https, of a public address.
    pub url: String,
    /// Globs; none means all.
    pub event_filters: Vec<String>,
}

/// What is to be different; `None` stays.
#[derive(Debug, Clone, Default)]
pub struct SubscriptionChange {
    /// See [`New::name`].
    pub name: Option<String>,
    /// See [`New::url`].
    pub url: Option<String>,
    /// See [`New::event_filters`].
    pub event_filters: Option<Vec<String>>,
    /// Whether anything is sent.
    pub enabled: Option<bool>,
}

/// Makes a subscription. Its secret is answered here, and nowhere again.
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
        enabled: true,
        disabled_reason: None,
        secrets: Secrets { current, previous: None },
        created_at: ctx.now,
        updated_at: ctx.now,
    };
    store.insert_subscription(&subscription).await?;
    Ok((subscription, secret))
}

/// Changes a subscription; the names of what is different now.
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
    let mut subscription = store.subscription(id).await?.ok_or(Error::NotFound)?;
    let mut changed = Vec::new();
    set(&mut subscription.name, name, "name", &mut changed);
    set(&mut subscription.url, url, "url", &mut changed);
    set(&mut subscription.event_filters, filters, "eventFilters", &mut changed);
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

/// Removes a subscription.
pub async fn remove(store: &mut dyn SubscriptionStore, id: &SubscriptionId) -> Result<Subscription, Error> {
    let subscription = store.subscription(id).await?.ok_or(Error::NotFound)?;
    store.delete_subscription(id).await?;
    Ok(subscription)
}

/// Disables a subscription because of what its receiver answered; `None` if it is gone or disabled already.
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

/// Gives a subscription a new secret, which is answered here and nowhere again. The one before signs beside it for some
/// hours: none at all if it is known to others.
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
    let mut subscription = store.subscription(id).await?.ok_or(Error::NotFound)?;
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

/// Ends a rotation: the new secret alone signs.
pub async fn complete_rotation(
    ctx: &Ctx,
    store: &mut dyn SubscriptionStore,
    id: &SubscriptionId,
) -> Result<Subscription, Error> {
    let mut subscription = store.subscription(id).await?.ok_or(Error::NotFound)?;
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
