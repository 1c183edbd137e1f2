//! A server in this process, on a database of its own.

use std::{net::SocketAddr, sync::Arc, thread::JoinHandle};

use audit::{AuditStore, Audited, Event, StoredEntry, events::tenants::TenantCreated};
use directory::{NewTenant, Tier};
use gatehouse::{config::Raw, http, keys::Keys};
use kernel::{Actor, Ctx, Env, Secret, SystemEnv, TenantId};
use store::{
    DatabaseUrl, Store, Tx,
    testing::{Kind, TestDatabase},
};
use tokens::{NewScimToken, ScimTokenId};

use super::Caller;

/// A running server; stopped when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) metrics_address: Option<SocketAddr>,
    store: Store,
    env: Arc<dyn Env>,
    runtime: tokio::runtime::Runtime,
    handle: actix_web::dev::ServerHandle,
    thread: Option<JoinHandle<()>>,
    /// Kept for its drop.
    database: TestDatabase,
}

/// A tenant with an identity provider.
pub(crate) struct Tenant {
    pub(crate) id: TenantId,
    pub(crate) token_id: ScimTokenId,
    pub(crate) token: String,
    pub(crate) scim: Caller,
}

/// Runs a test against a server on SQLite and one on PostgreSQL.
pub(crate) fn on_both(test: impl Fn(&Server)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        test(&Server::start(kind, &[]));
    }
}

impl Server {
    /// Starts one with the given settings over the defaults.
    pub(crate) fn start(kind: Kind, settings: &[(&str, &str)]) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let database = runtime.block_on(TestDatabase::new(kind));
        let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
        let mut raw = Raw::default();
        // Tests are not clients: only those about rates and overload meet them.
        let usual = [
            ("bind", "127.0.0.1:0"),
            ("workers", "2"),
            ("scim_rates", "100000,100000,100000"),
            ("max_in_flight", "100000"),
        ];
        for (name, value) in usual.iter().chain(settings) {
            raw.set(name, (*value).to_owned()).unwrap();
        }
        let bound = {
            let _inside = runtime.enter();
            let keys = Keys::fixed(&[("test".to_owned(), Secret::new(vec![7; 32]))]);
            http::bind(&raw.settings().unwrap(), keys, database.store(), Arc::clone(&env)).unwrap()
        };
        let (address, handle) = (bound.address, bound.handle());
        let metrics_address = bound.metrics_address;
        let serving = runtime.handle().clone();
        let thread = std::thread::spawn(move || serving.block_on(bound.serve()).unwrap());
        let store = database.store();
        Self { address, metrics_address, store, env, runtime, handle, thread: Some(thread), database }
    }

    /// Takes the database away from a server on PostgreSQL.
    pub(crate) fn lose_database(&self) {
        let DatabaseUrl::Postgres(url) = &self.database.url else { panic!("not on PostgreSQL") };
        let (cluster, name) = url.rsplit_once('/').unwrap();
        let drop = format!("DROP DATABASE {name} WITH (FORCE)");
        let done = std::process::Command::new("psql")
            .args(["-q", "-c", &drop, &format!("{cluster}/postgres")])
            .status();
        assert!(done.unwrap().success());
    }

    pub(crate) fn anonymous(&self) -> Caller {
        Caller::anonymous(self.address)
    }

    /// A new tenant whose name begins with `slug`.
    pub(crate) fn tenant(&self, slug: &str) -> Tenant {
        self.tenant_with(slug, false)
    }

    pub(crate) fn tenant_with(&self, slug: &str, create_conflict: bool) -> Tenant {
        let new = NewTenant { slug: slug.into(), name: slug.into(), tier: Tier::Standard };
        let tenant = directory::Tenant::new(&*self.env, new).unwrap();
        let id = tenant.id.clone();
        let unit = async move |ctx: &Ctx, tx: &mut Tx| {
            directory::create_tenant(tx, &tenant).await.unwrap();
            let new = NewScimToken { name: "test".into(), create_conflict };
            let minted = tokens::mint(ctx, tx, new).await.unwrap();
            let data = TenantCreated { slug: tenant.slug.clone(), tier: tenant.tier.as_str() };
            Ok::<_, kernel::StoreError>(Audited::new(minted, Event::new(tenant.id.as_str(), &data)))
        };
        let ctx = Ctx::new(Arc::clone(&self.env), id.clone(), Actor::system("test"));
        let (token, raw) = self.runtime.block_on(self.store.write(ctx, unit)).unwrap();
        let scim = self.anonymous().bearer(raw.expose());
        Tenant { id, token_id: token.id, token: raw.expose().to_owned(), scim }
    }

    /// Revokes the tenant's token, as the command line would.
    pub(crate) fn revoke(&self, tenant: &Tenant) {
        let id = tenant.token_id.clone();
        let unit = async move |ctx: &Ctx, tx: &mut Tx| {
            tokens::revoke(ctx, tx, &id).await?;
            let event = Event::new(id.as_str(), &audit::events::scim_tokens::ScimTokenRevoked {});
            Ok::<_, tokens::Error>(Audited::new((), event))
        };
        let ctx = Ctx::new(Arc::clone(&self.env), tenant.id.clone(), Actor::system("test"));
        self.runtime.block_on(self.store.write(ctx, unit)).unwrap();
    }

    /// The one entry of this action in the tenant's ledger.
    pub(crate) fn entry(&self, tenant: &Tenant, action: &str) -> StoredEntry {
        let mut found: Vec<_> =
            self.entries(tenant).into_iter().filter(|entry| entry.action == action).collect();
        assert_eq!(found.len(), 1, "{action}: {found:?}");
        found.remove(0)
    }

    /// The tenant's ledger, newest first; those of the same millisecond have no order.
    pub(crate) fn entries(&self, tenant: &Tenant) -> Vec<StoredEntry> {
        let read = self.store.read(tenant.id.clone(), async |tx: &mut Tx| tx.latest(10_000).await);
        self.runtime.block_on(read).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.runtime.block_on(self.handle.stop(false));
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}
