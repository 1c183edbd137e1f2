//! Adds, changes and removes transmitters.

use kernel::{Ctx, not_null};
use oidc_rp::KeySet;
use serde::Deserialize;
use tokens::RawToken;

use super::{
    configuration::{check_url, configuration_url_of},
    store::TransmitterStore,
    transmitter::{
        Consequence, Consequences, KeysRead, MAX_TRANSMITTERS, TransmitterId, TransmitterState,
        TrustedTransmitter,
    },
};
use crate::{Error, SignalKind, receiver};

/// Length of the state of verification events in bytes, before encoding.
const STATE_BYTES: usize = 16;

/// What the events of a transmitter do. A kind of event that is not named is only recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalConsequencesBody))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ConsequencesBody {
    /// Sessions were revoked (CAEP `session-revoked`, RISC `sessions-revoked`).
    #[serde(deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    session_revoked: Option<Consequence>,
    /// A credential was changed, revoked or deleted (CAEP `credential-change`).
    #[serde(deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    credential_change: Option<Consequence>,
    /// A credential is compromised (RISC `credential-compromise`).
    #[serde(deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    credential_compromise: Option<Consequence>,
    /// The assurance level changed and did not rise (CAEP `assurance-level-change`).
    #[serde(deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    assurance_level_change: Option<Consequence>,
    /// A device does not comply any more (CAEP `device-compliance-change`).
    #[serde(deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    device_compliance_change: Option<Consequence>,
    /// The risk level is high (CAEP `risk-level-change`).
    #[serde(deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    risk_level_change: Option<Consequence>,
    /// The account was disabled (RISC `account-disabled`).
    #[serde(deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    account_disabled: Option<Consequence>,
    /// The account was deleted (RISC `account-purged`).
    #[serde(deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    account_purged: Option<Consequence>,
}

impl ConsequencesBody {
    fn read(self) -> Consequences {
        let named = [
            (SignalKind::SessionRevoked, self.session_revoked),
            (SignalKind::CredentialChange, self.credential_change),
            (SignalKind::CredentialCompromise, self.credential_compromise),
            (SignalKind::AssuranceLevelChange, self.assurance_level_change),
            (SignalKind::DeviceComplianceChange, self.device_compliance_change),
            (SignalKind::RiskLevelChange, self.risk_level_change),
            (SignalKind::AccountDisabled, self.account_disabled),
            (SignalKind::AccountPurged, self.account_purged),
        ];
        let with_effect = |(kind, named): (SignalKind, Option<Consequence>)| {
            named
                .filter(|consequence| *consequence != Consequence::Record)
                .map(|consequence| (kind, consequence))
        };
        named.into_iter().filter_map(with_effect).collect()
    }
}

/// The transmitter to add.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = SignalTransmitterBody))]
pub struct NewTransmitter {
    /// 1 to 100 printable characters.
    #[cfg_attr(feature = "openapi", schema(schema_with = receiver::name_schema))]
    name: String,
    /// The issuer (`iss`) of its tokens, exactly as it writes it: an `https` URL without query and fragment.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 500))]
    issuer: String,
    /// The audience (`aud`) of its tokens, as it is configured there.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 500, pattern = "^[!-~]+$"))]
    audience: String,
    /// The SSO connection whose users its events are about.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 100))]
    connection_id: String,
    /// URL of its key set. Default: the one that its configuration at `/.well-known/ssf-configuration` names.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2048))]
    jwks_uri: Option<String>,
    /// What its events do. Default: they are recorded.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    consequences: Option<ConsequencesBody>,
    /// Whether its requests must have the header `Authorization` that the response contains. Default: true.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    requires_authorization: Option<bool>,
}

/// Changes of a transmitter.
#[derive(Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = SignalTransmitterChange))]
pub struct TransmitterChange {
    /// 1 to 100 printable characters.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(schema_with = receiver::name_schema))]
    name: Option<String>,
    /// The audience (`aud`) of its tokens.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(
        feature = "openapi",
        schema(nullable = false, min_length = 1, max_length = 500, pattern = "^[!-~]+$")
    )]
    audience: Option<String>,
    /// What its events do. Replaces the whole object: kinds that are not named are only recorded.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    consequences: Option<ConsequencesBody>,
    /// `false`: requests need no header `Authorization` any more. To require it again, replace the token.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    requires_authorization: Option<bool>,
    /// Whether its tokens are accepted.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    enabled: Option<bool>,
}

/// A transmitter to add, checked.
pub struct CheckedTransmitter {
    name: String,
    issuer: String,
    audience: String,
    connection: String,
    jwks_uri: Option<String>,
    consequences: Consequences,
    requires_authorization: bool,
}

impl NewTransmitter {
    /// Checks everything but the connection.
    ///
    /// # Errors
    /// The first member that is not valid.
    pub fn check(self) -> Result<CheckedTransmitter, Error> {
        configuration_url_of(&self.issuer).map_err(Error::Issuer)?;
        if self.issuer.len() > receiver::MAX_AUDIENCE {
            return Err(Error::TooLong("issuer"));
        }
        if let Some(url) = &self.jwks_uri {
            check_url("jwksUri", url).map_err(Error::Issuer)?;
        }
        Ok(CheckedTransmitter {
            name: receiver::checked_name(self.name)?,
            issuer: self.issuer,
            audience: receiver::checked_audience(self.audience)?,
            connection: self.connection_id,
            jwks_uri: self.jwks_uri,
            consequences: self.consequences.unwrap_or_default().read(),
            requires_authorization: self.requires_authorization.unwrap_or(true),
        })
    }
}

impl CheckedTransmitter {
    /// Returns the issuer, and the URL of its key set unless its configuration names it.
    pub fn source(&self) -> (&str, Option<&str>) {
        (&self.issuer, self.jwks_uri.as_deref())
    }

    /// Returns the ID of the SSO connection, which the host checks.
    pub fn connection(&self) -> &str {
        &self.connection
    }
}

/// Returns a transmitter, locked until the end of a unit of work that writes.
pub async fn find_transmitter<S: TransmitterStore + ?Sized>(
    store: &mut S,
    id: &TransmitterId,
) -> Result<TrustedTransmitter, Error> {
    store.transmitter(id).await?.ok_or(Error::NoTransmitter)
}

/// Adds a transmitter with its keys. Returns it with the token of its requests, which exists only in the returned value.
pub async fn add_transmitter<S: TransmitterStore + ?Sized>(
    ctx: &Ctx,
    store: &mut S,
    new: CheckedTransmitter,
    keys: KeySet,
) -> Result<(TrustedTransmitter, Option<RawToken>), Error> {
    if store.count_transmitters().await? >= MAX_TRANSMITTERS {
        return Err(Error::TooManyTransmitters);
    }
    let raw = new.requires_authorization.then(|| TrustedTransmitter::mint(&*ctx.env, &ctx.tenant));
    let mut state = [0_u8; STATE_BYTES];
    ctx.env.fill(&mut state);
    let verification_state = data_encoding::BASE64URL_NOPAD.encode(&state);
    let transmitter = TrustedTransmitter {
        id: TransmitterId::new(&*ctx.env),
        name: new.name,
        issuer: new.issuer,
        audience: new.audience,
        connection: new.connection,
        jwks_uri: new.jwks_uri,
        consequences: new.consequences,
        enabled: true,
        hash: raw.as_ref().map(RawToken::hash),
        keys: KeysRead::new(keys, ctx.now),
        state: TransmitterState { verification_state, ..TransmitterState::default() },
        created_at: ctx.now,
        updated_at: ctx.now,
    };
    store.insert_transmitter(&transmitter).await?;
    Ok((transmitter, raw))
}

/// Changes a transmitter. Returns it with the names of the changed members.
pub async fn change_transmitter<S: TransmitterStore + ?Sized>(
    ctx: &Ctx,
    store: &mut S,
    id: &TransmitterId,
    change: TransmitterChange,
) -> Result<(TrustedTransmitter, Vec<&'static str>), Error> {
    let name = change.name.map(receiver::checked_name).transpose()?;
    let audience = change.audience.map(receiver::checked_audience).transpose()?;
    let mut transmitter = find_transmitter(store, id).await?;
    let mut changed = Vec::new();
    receiver::set(&mut transmitter.name, name, "name", &mut changed);
    receiver::set(&mut transmitter.audience, audience, "audience", &mut changed);
    let consequences = change.consequences.map(ConsequencesBody::read);
    receiver::set(&mut transmitter.consequences, consequences, "consequences", &mut changed);
    receiver::set(&mut transmitter.enabled, change.enabled, "enabled", &mut changed);
    match change.requires_authorization {
        Some(true) if transmitter.hash.is_none() => return Err(Error::ReplaceToken),
        Some(false) => {
            receiver::set(&mut transmitter.hash, Some(None), "requiresAuthorization", &mut changed);
        }
        _ => {}
    }
    if !changed.is_empty() {
        transmitter.updated_at = ctx.now;
        store.update_transmitter(&transmitter).await?;
    }
    Ok((transmitter, changed))
}

/// Replaces the token of a transmitter's requests. The previous one is refused at once.
pub async fn replace_push_token<S: TransmitterStore + ?Sized>(
    ctx: &Ctx,
    store: &mut S,
    id: &TransmitterId,
) -> Result<(TrustedTransmitter, RawToken), Error> {
    let mut transmitter = find_transmitter(store, id).await?;
    let raw = TrustedTransmitter::mint(&*ctx.env, &ctx.tenant);
    transmitter.hash = Some(raw.hash());
    transmitter.updated_at = ctx.now;
    store.update_transmitter(&transmitter).await?;
    Ok((transmitter, raw))
}

/// Removes a transmitter.
pub async fn remove_transmitter<S: TransmitterStore + ?Sized>(
    store: &mut S,
    id: &TransmitterId,
) -> Result<(), Error> {
    find_transmitter(store, id).await?;
    Ok(store.delete_transmitter(id).await?)
}
