//! Names of databases for tests.

use std::sync::{Mutex, PoisonError};

use kernel::{Env, Id, SystemEnv, Tenant};

/// Names must differ between the test programs that share a cluster.
static NAMES: Mutex<Option<SystemEnv>> = Mutex::new(None);

pub(super) fn fresh_name() -> String {
    let mut env = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let env: &dyn Env = env.get_or_insert_with(SystemEnv::default);
    format!("test_{}", Id::<Tenant>::new(env).key())
}
