//! The answer of a unit of work that changes something.

use crate::Event;

/// Why a committed unit of work leaves no entry. Few and reasoned; storage holds it to its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unaudited {
    /// The resource already was as asked.
    NothingChanged,
    /// An attempt was counted; what came of it is entered by itself.
    AttemptCounted,
    /// The statement belongs to a change that records itself.
    PartOfChange,
    /// A step of a ceremony: its end is entered.
    StepTaken,
    /// When and from where a credential was last used.
    LastUse,
    /// The unit of work has entered what it had to.
    Entered,
    /// Entries got their places in the log.
    Sealed,
    /// What the ledger has said already is carried out.
    Announced,
    /// Events were told to those who want to know, or are about to be: that is no event.
    Delivered,
    /// Somebody looked after something, and found it as it was; or took away what is over.
    LookedAfter,
}

/// A value together with what the ledger has to say about how it came about.
///
/// There is no way to make one without an event or a reason, and no way to commit without one.
#[must_use = "an audited value is what a unit of work answers with"]
#[derive(Debug)]
pub struct Audited<T> {
    value: T,
    events: Vec<Event>,
}

impl<T> Audited<T> {
    /// A value that came about by `event`.
    pub fn new(value: T, event: Event) -> Self {
        Self { value, events: vec![event] }
    }

    /// A further event of the same change.
    pub fn and(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Further events of the same change.
    pub fn with(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        self.events.extend(events);
        self
    }

    /// The same with another value.
    pub fn map<U>(self, other: impl FnOnce(T) -> U) -> Audited<U> {
        Audited { value: other(self.value), events: self.events }
    }

    /// A value that leaves no entry, and why.
    pub fn without(value: T, _reason: Unaudited) -> Self {
        Self { value, events: Vec::new() }
    }

    /// The events of a change; without any it says [`Unaudited::NothingChanged`].
    pub fn of_changes(value: T, events: Vec<Event>) -> Self {
        Self { value, events }
    }

    /// The value and its events.
    pub fn into_parts(self) -> (T, Vec<Event>) {
        (self.value, self.events)
    }
}
