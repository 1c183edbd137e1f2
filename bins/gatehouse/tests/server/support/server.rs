//! A server in this process, on a database of its own.

use std::{net::SocketAddr, sync::Arc, thread::JoinHandle, time::Duration};

use audit::{AuditStore, Audited, Event, StoredEntry, events::tenants::TenantCreated};
use credentials::{Cost, Passwords, Salt, SignInPolicy, SignInStore};
use directory::{NewPerson, NewTenant, Role, Tier};
use gate::keys::Keys;
use gatehouse::{
    config::Raw,
    server::{self, ServerParts},
};
use kernel::{Actor, Ctx, Env, MasterKeys, Secret, TenantId, UserId};
use store::{
    DatabaseUrl, Store, Tx,
    testing::{Kind, TestDatabase},
};
use tokens::{NewScimToken, ScimTokenId};
use tokio_util::task::TaskTracker;

use super::{Browser, Caller, DnsServer, MovedEnv, OpenIdProvider, Process};

/// A running server, stopped on drop.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) metrics_address: Option<SocketAddr>,
    store: Store,
    pub(crate) env: Arc<MovedEnv>,
    /// The DNS server that it uses.
    pub(crate) dns: DnsServer,
    runtime: tokio::runtime::Runtime,
    handle: actix_web::dev::ServerHandle,
    entering: TaskTracker,
    thread: Option<JoinHandle<()>>,
    /// Kept for its `Drop`.
    database: TestDatabase,
}

/// The session secret in tests.
pub(crate) const AUTH_SECRET: &str = "Pm3x-tests-only-uZ81q-0987-abcdefghij";

/// Origin of the test servers for browsers.
pub(crate) const ORIGIN: &str = "http://localhost:8080";

/// The password of all test users.
pub(crate) const PASSWORD: &str = "correct horse and more";

/// A user of a tenant.
pub(crate) struct Person {
    pub(crate) id: kernel::UserId,
    pub(crate) email: String,
    pub(crate) password: &'static str,
}

/// The master keys of the test servers.
pub(crate) fn masters() -> MasterKeys {
    MasterKeys::new(vec![("test".to_owned(), Secret::new(vec![7; 32]))]).unwrap()
}

/// The master key of a binary beside a test server. Settings accept no key as simple as that of the test servers.
const PROCESS_KEY: &str = "process:BwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSY=";

fn parts(database: &TestDatabase, env: &Arc<MovedEnv>) -> ServerParts {
    let secret = sessions::CookieSecret::new(AUTH_SECRET.to_owned()).unwrap();
    let keys = Keys::fixed(&masters(), &[secret]);
    ServerParts { keys, store: database.store(), env: env.clone() }
}

/// A tenant with a SCIM token.
pub(crate) struct Tenant {
    pub(crate) id: TenantId,
    pub(crate) token_id: ScimTokenId,
    pub(crate) token: String,
    pub(crate) scim: Caller,
}

/// Waits until a condition holds that is established after the response. The time limit allows for a disk that stalls
/// while it writes what a build left in memory.
pub(crate) fn eventually(is_so: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "the condition did not become true within 30 s");
        std::thread::yield_now();
    }
}

/// Runs a test against a server on SQLite and one on PostgreSQL.
pub(crate) fn on_both(test: impl Fn(&Server)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        test(&Server::start(kind, &[]));
    }
}

impl Server {
    /// Starts a server with these settings over the defaults.
    pub(crate) fn start(kind: Kind, settings: &[(&str, &str)]) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let database = runtime.block_on(TestDatabase::new(kind));
        let env = Arc::new(MovedEnv::default());
        let dns = DnsServer::start();
        let mut raw = Raw::default();
        raw.set("dns_servers", dns.address.to_string()).unwrap();
        // Disable limits that tests would exceed; tests of limits set their own.
        let usual = [
            ("bind", "127.0.0.1:0"),
            ("workers", "2"),
            ("scim_rates", "100000,100000,100000"),
            ("max_in_flight", "100000"),
            ("password_cost", "64,1,1"),
            ("base_url", ORIGIN),
            // Receivers in tests are on this machine.
            ("webhooks_allow_cidrs", "127.0.0.0/8"),
            ("webhooks_allow_http", "true"),
            OpenIdProvider::trusted(),
        ];
        for (name, value) in usual.iter().chain(settings) {
            raw.set(name, (*value).to_owned()).unwrap();
        }
        let bound = {
            let _inside = runtime.enter();
            server::bind(&raw.settings().unwrap(), parts(&database, &env)).unwrap()
        };
        let (address, handle) = (bound.address, bound.handle());
        let metrics_address = bound.metrics_address;
        let entering = bound.pending_records();
        let serving = runtime.handle().clone();
        let thread = std::thread::spawn(move || serving.block_on(bound.serve()).unwrap());
        let store = database.store();
        Self {
            address,
            metrics_address,
            store,
            env,
            dns,
            runtime,
            handle,
            entering,
            thread: Some(thread),
            database,
        }
    }

    /// Disconnects a server from its PostgreSQL database.
    pub(crate) fn lose_database(&self) {
        let DatabaseUrl::Postgres(url) = &self.database.url else { panic!("not on PostgreSQL") };
        let (cluster, name) = url.rsplit_once('/').unwrap();
        let drop = format!("DROP DATABASE {name} WITH (FORCE)");
        let done = std::process::Command::new("psql")
            .args(["-q", "-c", &drop, &format!("{cluster}/postgres")])
            .status();
        assert!(done.unwrap().success());
    }

    /// Returns the number of PostgreSQL connections that wait for a lock.
    pub(crate) fn waiting_for_locks(&self) -> usize {
        let DatabaseUrl::Postgres(url) = &self.database.url else { panic!("not on PostgreSQL") };
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let on_workers = format!("SELECT sum(result::int) FROM run_command_on_workers($${waiting}$$)");
        let query = if TestDatabase::is_distributed() { &on_workers } else { waiting };
        let done =
            std::process::Command::new("psql").args(["-q", "-t", "-A", "-c", query, url]).output().unwrap();
        String::from_utf8(done.stdout).unwrap().trim().parse().unwrap()
    }

    /// Returns the pool metrics of another store on its database.
    pub(crate) fn pool_metrics(&self) -> store::PoolMetrics {
        self.store.pool_metrics()
    }

    pub(crate) fn anonymous(&self) -> Caller {
        Caller::anonymous(self.address)
    }

    /// Creates a tenant whose name begins with `slug`.
    pub(crate) fn tenant(&self, slug: &str) -> Tenant {
        self.tenant_with(slug, false)
    }

    pub(crate) fn tenant_with(&self, slug: &str, create_conflict: bool) -> Tenant {
        let new = NewTenant { slug: slug.into(), name: slug.into(), tier: Tier::Standard };
        let tenant = directory::Tenant::new(&*self.env, new).unwrap();
        let id = tenant.id.clone();
        let unit = async move |ctx: &Ctx, tx: &mut Tx| {
            directory::create_tenant(tx, &tenant).await.unwrap();
            let new = NewScimToken { name: "test".into(), create_conflict, dry_run: false };
            let minted = tokens::mint(ctx, tx, new).await.unwrap();
            let data = TenantCreated { slug: tenant.slug.clone(), tier: tenant.tier.as_str() };
            Ok::<_, kernel::StoreError>(Audited::new(minted, Event::new(tenant.id.as_str(), &data)))
        };
        let ctx = Ctx::new(self.env.clone(), id.clone(), Actor::system("test"));
        let (token, raw) = self.runtime.block_on(self.store.write(ctx, unit)).unwrap();
        let scim = self.anonymous().bearer(raw.expose());
        Tenant { id, token_id: token.id, token: raw.expose().to_owned(), scim }
    }

    /// Returns a browser without cookies.
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.address)
    }

    /// Starts another instance on the same database, with the same secrets and clock.
    pub(crate) fn second(&self, test: impl FnOnce(SocketAddr)) {
        self.second_with(&[], test);
    }

    /// Starts another instance with these settings over the defaults.
    pub(crate) fn second_with(&self, settings: &[(&str, &str)], test: impl FnOnce(SocketAddr)) {
        let mut raw = Raw::default();
        let usual = [
            ("bind", "127.0.0.1:0"),
            ("workers", "1"),
            ("base_url", ORIGIN),
            ("max_in_flight", "100000"),
            ("webhooks_allow_cidrs", "127.0.0.0/8"),
            ("webhooks_allow_http", "true"),
            OpenIdProvider::trusted(),
        ];
        raw.set("dns_servers", self.dns.address.to_string()).unwrap();
        for (name, value) in usual.iter().chain(settings) {
            raw.set(name, (*value).to_owned()).unwrap();
        }
        let bound = {
            let _inside = self.runtime.enter();
            server::bind(&raw.settings().unwrap(), parts(&self.database, &self.env)).unwrap()
        };
        let (address, handle) = (bound.address, bound.handle());
        let serving = self.runtime.handle().clone();
        let thread = std::thread::spawn(move || serving.block_on(bound.serve()).unwrap());
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(address)));
        self.runtime.block_on(handle.stop(false));
        thread.join().unwrap();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    }

    /// Returns the real binary on the same database. It uses the system clock, and another master key: it reads nothing that this
    /// server has sealed, and its audit entries stay unsealed.
    pub(crate) fn process(&self) -> Process {
        let mut process = Process::new(&[
            ("GATEHOUSE_BIND", "127.0.0.1:0"),
            ("GATEHOUSE_WORKERS", "2"),
            ("GATEHOUSE_BASE_URL", ORIGIN),
            ("GATEHOUSE_AUTH_SECRET", AUTH_SECRET),
            ("GATEHOUSE_MASTER_KEY", PROCESS_KEY),
        ]);
        let url = match &self.database.url {
            DatabaseUrl::Sqlite(path) => format!("sqlite:{}", path.display()),
            DatabaseUrl::Postgres(url) => url.clone(),
        };
        process.set("GATEHOUSE_DATABASE_URL", &url);
        process
    }

    /// Creates a user with a password, as the command line would.
    pub(crate) fn person(&self, tenant: &Tenant, email: &str, role: Role) -> Person {
        let new = NewPerson { email: email.parse().unwrap(), role, display_name: None };
        let id = self.write(&tenant.id, async move |ctx, tx| {
            Ok(directory::create_person(ctx, tx, new).await.unwrap().id)
        });
        self.set_password(tenant, &id, email);
        Person { id, email: email.to_owned(), password: PASSWORD }
    }

    /// Gives a user the password of all test users.
    pub(crate) fn set_password(&self, tenant: &Tenant, id: &UserId, email: &str) {
        self.change_password(tenant, id, email, PASSWORD);
    }

    /// Gives a user this password.
    pub(crate) fn change_password(&self, tenant: &Tenant, id: &UserId, email: &str, text: &str) {
        let password = Secret::new(text.to_owned());
        let key = email.parse::<kernel::Email>().unwrap().key();
        let (env, of, id) = (Arc::clone(&self.env), tenant.id.clone(), id.clone());
        self.write(&tenant.id, async move |ctx, tx| {
            let salt = tx.password_salt(&key, Salt::random(&*env)).await?;
            let hash = Passwords::new(Cost::CHEAP).hash(&password, &salt, &of).unwrap();
            tx.set_password(&id, &hash, ctx.now).await
        });
    }

    /// Creates a user with a complete session.
    pub(crate) fn signed_in(&self, tenant: &Tenant, email: &str, role: Role) -> (Person, Browser) {
        let person = self.person(tenant, email, role);
        let browser = self.browser();
        let answer = browser.sign_in(email, PASSWORD);
        assert_eq!(answer.json()["status"], "SIGNED_IN", "{}", answer.text);
        (person, browser)
    }

    /// Returns how many verified domains are due to be checked again, or are being checked: that takes minutes at most.
    pub(crate) fn due_domains(&self) -> usize {
        let now = self.env.now().plus_millis(600_000);
        let look = async move |across: &mut store::Across| across.domains_due(now, 10).await;
        self.runtime.block_on(self.store.across(look)).unwrap().len()
    }

    /// Runs a transaction of a tenant as the operator.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> kernel::StoreResult<T> + Send + 'static,
    ) -> T {
        let unit = async move |ctx: &Ctx, tx: &mut Tx| {
            let done = work(ctx, tx).await?;
            let event = Event::new("test", &audit::events::users::UserUpdated { changed: Vec::new() });
            Ok::<_, kernel::StoreError>(Audited::new(done, event))
        };
        let ctx = Ctx::new(self.env.clone(), tenant.clone(), Actor::system("test"));
        self.runtime.block_on(self.store.write(ctx, unit)).unwrap()
    }

    /// Disables a user, as provisioning does.
    pub(crate) fn disable(&self, tenant: &Tenant, id: &kernel::UserId) {
        let id = id.clone();
        self.write(&tenant.id, async move |ctx, tx| {
            let before = directory::PeopleStore::person(tx, &id).await?.unwrap();
            let after = directory::Person { active: false, updated_at: ctx.now, ..before.clone() };
            directory::PeopleStore::update_person(tx, &before, &after).await
        });
    }

    /// Changes the tenant's sign-in policy.
    pub(crate) fn policy(&self, tenant: &Tenant, change: impl Fn(&mut SignInPolicy) + Send + 'static) {
        self.write(&tenant.id, async move |_, tx| {
            let mut policy = tx.sign_in_policy().await?;
            change(&mut policy);
            tx.set_sign_in_policy(&policy).await
        });
    }

    /// Revokes the tenant's token, as the command line would.
    pub(crate) fn revoke(&self, tenant: &Tenant) {
        let id = tenant.token_id.clone();
        let unit = async move |ctx: &Ctx, tx: &mut Tx| {
            tokens::revoke(ctx, tx, &id).await?;
            let event = Event::new(id.as_str(), &audit::events::scim_tokens::ScimTokenRevoked {});
            Ok::<_, tokens::ScimTokenError>(Audited::new((), event))
        };
        let ctx = Ctx::new(self.env.clone(), tenant.id.clone(), Actor::system("test"));
        self.runtime.block_on(self.store.write(ctx, unit)).unwrap();
    }

    /// Returns the only entry with this action in the tenant's audit log.
    pub(crate) fn entry(&self, tenant: &Tenant, action: &str) -> StoredEntry {
        let mut found: Vec<_> =
            self.entries(tenant).into_iter().filter(|entry| entry.action == action).collect();
        assert_eq!(found.len(), 1, "{action}: {found:?}");
        found.remove(0)
    }

    /// Returns a SAML connection as it is stored.
    pub(crate) fn saml_provider(&self, tenant: &Tenant, id: &str) -> saml_sp::Provider {
        let id = id.parse().unwrap();
        let read =
            self.store.read(tenant.id.clone(), async move |tx: &mut Tx| tx.current_provider(&id).await);
        self.runtime.block_on(read).unwrap().unwrap()
    }

    /// Returns the tenant's audit log, newest first; entries of the same millisecond have no defined order. It
    /// includes entries that are recorded after the response.
    pub(crate) fn entries(&self, tenant: &Tenant) -> Vec<StoredEntry> {
        eventually(|| self.entering.is_empty());
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
