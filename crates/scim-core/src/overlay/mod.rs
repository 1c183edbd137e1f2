//! A dry run: changes that are kept beside a store instead of being made in it.
//!
//! An [`Overlay`] implements the storage traits over another store. It answers as the store would after the changes,
//! and never writes to the store.

mod changes;
mod differences;
mod groups;
mod pages;
mod users;

pub use changes::{MembershipChanges, OverlayChanges};
pub use differences::{Action, Difference, ResourceKind};

/// Users and groups as they would be after [`OverlayChanges`]. Reads combine the store with the changes; writes add to
/// the changes.
///
/// Reads of lists take time in proportion to the number of changes, and changes of a group read all its members. Limit
/// the number of changes with [`OverlayChanges::len`].
#[derive(Debug)]
pub struct Overlay<'o, S> {
    store: &'o mut S,
    changes: &'o mut OverlayChanges,
}

impl<'o, S> Overlay<'o, S> {
    /// Creates a view of `store` after `changes`.
    pub fn new(store: &'o mut S, changes: &'o mut OverlayChanges) -> Self {
        Self { store, changes }
    }
}
