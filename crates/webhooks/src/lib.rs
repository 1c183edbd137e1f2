//! Signed webhooks: who is told what, and deliveries that lose nothing and wait for nobody.
//!
//! For receivers there is [`verify`], which needs nothing of a server: take the crate without its default features.
//!
//! For senders, a [`Subscription`] is a URL with [`EventFilter`]s and a secret that is derived, never kept
//! ([`SecretKeys`]). [`create`], [`change`], [`rotate`] and the others change subscriptions behind [`SubscriptionStore`]. A
//! [`Dispatcher`] takes what is due from a [`Queue`] and sends it through a [`client::Client`] that talks to public
//! addresses alone. It holds nothing but a lease while a receiver thinks, writes what came of it in groups, and is fair:
//! one slow receiver holds up nobody, not even another of the same tenant.
//!
//! `examples/embed.rs` is a program with a queue in memory ([`MemoryQueue`]) that sends to itself.

#[cfg(feature = "deliver")]
pub mod client;
#[cfg(feature = "deliver")]
mod delivery;
#[cfg(feature = "deliver")]
mod dispatch;
#[cfg(feature = "deliver")]
mod error;
#[cfg(feature = "deliver")]
mod glob;
#[cfg(feature = "deliver")]
mod memory;
#[cfg(feature = "deliver")]
mod schedule;
#[cfg(feature = "deliver")]
mod secret;
#[cfg(feature = "deliver")]
mod store;
#[cfg(feature = "deliver")]
mod subscription;
pub mod verify;

#[cfg(feature = "deliver")]
pub use self::{
    delivery::{
        Attempt, AttemptError, DeliveryId, EventId, NextAttempt, Outcome, Payload, PayloadActor,
        PayloadResource, Report, TEST,
    },
    dispatch::{
        Batch, Deliverer, DispatchObserver, Dispatcher, HttpDeliver, Key, Lease, LeaseOutcome, Limits,
        Receiver, Wakeups, sent,
    },
    error::{Error, KeyError},
    glob::{EventFilter, ParseEventFilterError},
    memory::{MemoryDelivery, MemoryQueue, MemorySubscriptions},
    schedule::{PATIENCE, STEPS, next_attempt},
    secret::{Generation, PreviousSecret, SecretKeys, Secrets, Signers, SigningSecret},
    store::{Queue, SubscriptionStore},
    subscription::{
        DisabledReason, MAX_FILTERS, MAX_NAME, MAX_OVERLAP_HOURS, MAX_SUBSCRIPTIONS, New, OVERLAP_HOURS,
        Subscription, SubscriptionChange, SubscriptionId, change, complete_rotation, create, disable, remove,
        rotate,
    },
};
