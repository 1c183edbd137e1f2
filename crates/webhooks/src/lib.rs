//! Signed webhooks with fair, at-least-once delivery.
//!
//! # Verify webhooks
//!
//! Receivers need only [`Verifier`]. Take the crate without its default features, with the feature `event`:
//!
#![cfg_attr(feature = "event", doc = concat!("```no_run\n", include_str!("../examples/receive.rs"), "```"))]
//!
#![cfg_attr(feature = "deliver", doc = include_str!("send.md"))]
#![cfg_attr(not(feature = "deliver"), doc = "The default feature `deliver` adds what senders need.")]

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
#[cfg(feature = "event")]
mod received;
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

#[cfg(feature = "event")]
pub use self::received::ReceivedEvent;
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
