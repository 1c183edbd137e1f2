//! The fuzz target: no input except the genuine token verifies.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::LazyLock,
};

use kernel::{Id, MasterKeys, Secret, SigningKeys, SystemEnv, Timestamp, UserId};

use crate::{Claims, Factor, Grant};

static GENUINE: LazyLock<(SigningKeys, String)> = LazyLock::new(|| {
    let keys = [("b", 2), ("a", 1)].map(|(id, byte)| (id.to_owned(), Secret::new(vec![byte; 32])));
    let keys = SigningKeys::derive(&MasterKeys::new(keys.into()).unwrap_or_default(), "step-up");
    let env = SystemEnv::default();
    let grant = Grant {
        id: Id::new(&env),
        user: UserId::new(&env),
        session: "ses_1".to_owned(),
        purpose: "PAYROLL_SEAL".to_owned(),
        factor: Factor::Webauthn,
        ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
        issued_at: Timestamp::from_unix_millis(0),
        expires_at: Timestamp::from_unix_millis(60_000),
    };
    let token = Claims::of(&Id::new(&env), &grant).sign(&keys).map(|token| token.expose().clone());
    (keys, token.unwrap_or_default())
});

/// Returns a valid token, for seeding the fuzzer.
pub fn genuine() -> &'static str {
    &GENUINE.1
}

/// Parses bytes as a token and panics if anything but the genuine one verifies.
pub fn token(data: &[u8]) {
    let (keys, genuine) = &*GENUINE;
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = Claims::read(keys, text);
    assert_eq!(read.is_ok(), text == genuine, "{text:?} is parsed as {read:?}");
}
