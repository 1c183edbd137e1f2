//! Compares a password the given number of times: `cost [TIMES]`. `cargo xtask bench auth` measures its cost.

use credentials::{Cost, Passwords, Salt, StoredPassword};
use kernel::{Secret, SystemEnv, TenantId};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let times: usize = std::env::args().nth(1).map_or(Ok(3), |times| times.parse())?;
    let passwords = Passwords::new(Cost::USUAL);
    let password = Secret::new("a password that is long enough".to_owned());
    let env = SystemEnv::default();
    let (salt, tenant) = (Salt::random(&env), TenantId::new(&env));
    let hash = passwords.hash(&password, &salt, &tenant)?;
    let stored = [StoredPassword { tenant, hash }];
    for _ in 0..times {
        std::hint::black_box(passwords.verify(&password, Some(&salt), &stored));
    }
    Ok(())
}
