//! The result of a unit of work that makes changes.

use crate::Event;

/// Why a committed unit of work records no audit entry. Storage rejects a false claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unaudited {
    /// The resource already had the requested state.
    NothingChanged,
    /// An attempt was counted. Its outcome has its own entry.
    AttemptCounted,
    /// The statement belongs to a change that has an entry.
    PartOfChange,
    /// A step of a multi-step process, whose end has an entry.
    StepTaken,
    /// A change was simulated. It would have an entry.
    Simulated,
    /// The last use of a credential was stored.
    LastUse,
    /// The unit of work has recorded its entries itself.
    Entered,
    /// Entries were sealed.
    Sealed,
    /// Carries out what an earlier entry has announced.
    Announced,
    /// Webhook deliveries were created or sent, which are not audited.
    Delivered,
    /// Maintenance that changed nothing, or that purged expired rows.
    LookedAfter,
}

/// A value together with the audit events of the change that produced it.
///
/// It cannot be created without an event or a reason, and a change cannot be committed without it.
#[must_use = "return the audited value from the unit of work"]
#[derive(Debug)]
pub struct Audited<T> {
    value: T,
    events: Vec<Event>,
}

impl<T> Audited<T> {
    /// Creates a value with its event.
    pub fn new(value: T, event: Event) -> Self {
        Self { value, events: vec![event] }
    }

    /// Adds an event of the same change.
    pub fn and(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Adds events of the same change.
    pub fn with(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        self.events.extend(events);
        self
    }

    /// Puts events of the same change before the others.
    pub fn after(self, mut events: Vec<Event>) -> Self {
        events.extend(self.events);
        Self { value: self.value, events }
    }

    /// Converts the value.
    pub fn map<U>(self, other: impl FnOnce(T) -> U) -> Audited<U> {
        Audited { value: other(self.value), events: self.events }
    }

    /// Creates a value without an event, for the given reason.
    pub fn without(value: T, _reason: Unaudited) -> Self {
        Self { value, events: Vec::new() }
    }

    /// Creates a value with the events of a change. No events means [`Unaudited::NothingChanged`].
    pub fn of_changes(value: T, events: Vec<Event>) -> Self {
        Self { value, events }
    }

    /// Returns the value, to complete it.
    pub fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value and its events.
    pub fn into_parts(self) -> (T, Vec<Event>) {
        (self.value, self.events)
    }
}
