//! Signed webhooks with fair, at-least-once delivery.
//!
//! # Verify webhooks
//!
//! Receivers need only [`Verifier`]. Take the crate without its default features:
//!
#![doc = concat!("```no_run\n", include_str!("../examples/receive.rs"), "```")]
//!
//! # Send webhooks
//!
//! A [`Subscription`] is a URL with [`EventFilter`]s and a secret that is derived on demand and never stored
//! ([`SecretKeys`]). [`create`], [`change`], [`rotate`] and related functions change subscriptions in a
//! [`SubscriptionStore`]. A [`Dispatcher`] takes due deliveries from a [`Queue`] and sends them through a
//! [`client::Client`] that connects only to public addresses. While waiting for a receiver, it holds only a lease. It
//! records outcomes in batches, and a slow receiver delays no other subscription, not even of the same tenant.
//!
//! `examples/embed_webhooks.rs` sends to itself with an in-memory queue ([`MemoryQueue`]).
#![cfg_attr(
    not(feature = "deliver"),
    expect(rustdoc::broken_intra_doc_links, reason = "the types of senders")
)]

#[cfg(feature = "deliver")]
mod asymmetric;
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
mod history;
#[cfg(feature = "deliver")]
mod memory;
mod public_key;
#[cfg(feature = "deliver")]
mod schedule;
#[cfg(feature = "deliver")]
mod secret;
#[cfg(feature = "deliver")]
mod store;
#[cfg(feature = "deliver")]
mod subscription;
mod verifier;
pub mod verify;
#[cfg(feature = "deliver")]
mod view;

pub use self::{public_key::PublicKey, verifier::Verifier};

/// The attribute for implementations of [`SubscriptionStore`] and [`Queue`].
#[cfg(feature = "deliver")]
pub use async_trait::async_trait;
#[cfg(feature = "deliver")]
pub use cidr::IpCidr;
#[cfg(feature = "deliver")]
pub use kernel::{
    Actor, ActorKind, Ctx, Env, Id, InvalidMasterKey, MasterKeys, ParseIdError, ParseMasterKeysError,
    ParseTimestampError, SealingKeys, Secret, SigningKeys, StoreError, StoreResult, SystemEnv, TenantId,
    Timestamp, TraceContext, UserId,
};

#[cfg(feature = "deliver")]
pub use self::{
    asymmetric::{Jwk, SigningKey},
    delivery::{
        Attempt, AttemptError, DeliveryId, EventId, NextAttempt, Outcome, Payload, PayloadActor,
        PayloadResource, Report, TEST,
    },
    dispatch::{
        Batch, Deliverer, DisabledSubscription, DispatchObserver, Dispatcher, HttpDeliver, Key, Lease,
        LeaseOutcome, Limits, Receiver, Recorded, Wakeups, sent,
    },
    error::{Error, KeyError},
    glob::{EventFilter, ParseEventFilterError},
    history::{Delivered, DeliveryStatus, HourOfDeliveries, ReplayRange, ReplaySummary},
    memory::{MemoryDelivery, MemoryQueue, MemorySubscriptions, PublishedEvent},
    schedule::{NOTICES, PATIENCE, STEPS, is_notice_due, next_attempt},
    secret::{Generation, Owner, PreviousSecret, SecretKeys, Secrets, Signer, Signers, SigningSecret},
    store::{Queue, SubscriptionStore},
    subscription::{
        DisabledReason, MAX_FILTERS, MAX_NAME, MAX_OVERLAP_HOURS, MAX_SUBSCRIPTIONS, New, OVERLAP_HOURS,
        Rotation, Subscription, SubscriptionChange, SubscriptionId, change, complete_rotation, create,
        disable, find, remove, rotate,
    },
    view::SubscriptionView,
};
