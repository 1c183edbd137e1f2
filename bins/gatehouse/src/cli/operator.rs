//! The operator at work.

use std::sync::Arc;

use ::audit::{Audited, EntryKeys};
use directory::Tenant;
use kernel::{Actor, Ctx, Env, StoreError, TenantId};
use store::{Store, Tx};

use super::report::Result;
use crate::{
    config::{Raw, Settings},
    secrets,
};

/// SQLite makes the file, not the folder.
pub(super) fn make_data_dir(settings: &Settings) -> std::io::Result<()> {
    match &settings.database_url {
        store::DatabaseUrl::Sqlite(path) => match path.parent() {
            Some(folder) => secrets::create_folder(folder),
            None => Ok(()),
        },
        store::DatabaseUrl::Postgres(_) => Ok(()),
    }
}

/// The operator at work: the database, and units of work as SYSTEM.
pub(super) struct Operator {
    pub(super) store: Store,
    pub(super) env: Arc<dyn Env>,
}

impl Operator {
    /// Opens the database, which must be at the present schema, with the keys of this installation: entries of the audit log
    /// need a MAC. On SQLite they are made where there are none yet, as by the first start of the server.
    pub(super) async fn open(raw: &mut Raw, env: Arc<dyn Env>) -> Result<Self> {
        let settings = raw.settings()?;
        match &settings.database_url {
            store::DatabaseUrl::Sqlite(_) if !raw.has("master_key") => {
                secrets::keep_in(&settings.data_dir, raw, &*env)?;
            }
            _ => secrets::read_kept(&settings.data_dir, raw)?,
        }
        Self::open_with(&raw.settings()?, env).await
    }

    /// The same with the keys of these settings. Without a master key it can read, and write nothing.
    pub(super) async fn open_with(settings: &Settings, env: Arc<dyn Env>) -> Result<Self> {
        make_data_dir(settings)?;
        let masters = settings.master_keys();
        let store = Store::open(&settings.database_url, 1, EntryKeys::derive(&masters))?;
        if store.is_behind().await? {
            return Err("the database is behind this program: run gatehouse migrate first".into());
        }
        Ok(Self { store, env })
    }

    pub(super) async fn tenant(&self, slug: &str) -> Result<Tenant> {
        let found = self.store.across(async |across| across.tenant_of_slug(slug).await).await?;
        found.ok_or_else(|| format!("--tenant: there is no tenant {slug}").into())
    }

    pub(super) async fn write<T, E>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> std::result::Result<Audited<T>, E> + Send + 'static,
    ) -> std::result::Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.store.write(Ctx::new(Arc::clone(&self.env), tenant.clone(), Actor::system("cli")), work).await
    }
}
