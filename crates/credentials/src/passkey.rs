//! WebAuthn Level 3 ceremonies for passkeys, over a library that leaves policy to its caller.

use crate::CeremonyError;
use std::time::Duration;

use kernel::{TenantId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;
use webauthn_rs_core::{
    WebauthnCore,
    proto::{
        AttestationConveyancePreference, AttestationFormat, AuthenticationState, Credential,
        ParsedAttestationData, PublicKeyCredential, RegisterPublicKeyCredential, RegistrationState,
        UserVerificationPolicy,
    },
};

use crate::trust_anchors::{
    Aaguid, MAX_CHAIN, Trust, TrustAnchors, aaguid, chain, is_not_understood, trust, with_presence,
    without_attestation,
};

/// The time that a user has to answer.
const TIMEOUT: Duration = Duration::from_mins(5);

/// The attestation conveyance preference (WebAuthn Level 3, section 5.4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attestation {
    /// No attestation. The browser does not have to ask the user for consent.
    None,
    /// The attestation as the authenticator creates it.
    Direct,
}

/// How the browser created a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// After it asked the user.
    Asked,
    /// Perhaps without asking, because the user has just signed in: conditional create (WebAuthn Level 3, section 5.1.3).
    /// An attestation counts as absent.
    Conditional,
}

/// An enrolled passkey.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Passkey {
    /// The credential's public key, signature counter and flags.
    credential: Credential,
    /// The authenticator model that the authenticator reported.
    pub aaguid: Aaguid,
    /// How far the model was verified at enrolment.
    #[serde(default)]
    pub trust: Trust,
    /// Whether the authenticator is built into the user's device; `None` if the browser did not report it.
    #[serde(default)]
    pub is_platform: Option<bool>,
}

impl PartialEq for Passkey {
    fn eq(&self, other: &Self) -> bool {
        serde_json::to_value(self).ok() == serde_json::to_value(other).ok()
    }
}

impl Passkey {
    /// Returns the credential id, which is unique in the tenant.
    pub fn credential_id(&self) -> &[u8] {
        self.credential.cred_id.as_slice()
    }

    /// Whether the passkey can be copied to other devices.
    pub fn backup_eligible(&self) -> bool {
        self.credential.backup_eligible
    }

    /// Whether the passkey is currently backed up.
    pub fn backed_up(&self) -> bool {
        self.credential.backup_state
    }
}

/// Server state of a registration in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingRegistration(RegistrationState);

/// Server state of an assertion in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingAssertion(AuthenticationState);

/// A credential in answer to a WebAuthn challenge.
pub struct Assertion(PublicKeyCredential);

impl Assertion {
    /// Parses the browser's credential from JSON.
    pub fn read(value: &Value) -> Result<Self, CeremonyError> {
        let read = PublicKeyCredential::deserialize(value);
        read.map(Self).map_err(|error| CeremonyError::Malformed(error.to_string()))
    }

    /// Returns the id of the asserted credential.
    pub fn credential_id(&self) -> &[u8] {
        self.0.get_credential_id()
    }

    /// Returns the user handle. It is unverified until [`Passkeys::finish_assertion`] succeeds with a passkey of that
    /// user.
    pub fn user_handle(&self) -> Option<&[u8]> {
        self.0.get_user_unique_id()
    }
}

/// The result of a verified assertion.
#[derive(Debug)]
pub struct VerifiedAssertion {
    /// Whether the authenticator verified the user, so that the passkey counts as two factors.
    pub user_verified: bool,
    /// The passkey with its updated counter and flags.
    pub passkey: Passkey,
}

/// The WebAuthn ceremonies of one relying party.
pub struct Passkeys {
    core: WebauthnCore,
    rp_id: String,
}

impl Passkeys {
    /// Creates the relying party of the server at this origin, such as `https://gate.example.com`. Its passkeys can be used
    /// at the related origins, too (WebAuthn Level 3, section 5.11).
    pub fn new(name: &str, origin: &str, related: &[String]) -> Result<Self, CeremonyError> {
        let parse = |origin: &str| {
            let url = Url::parse(origin).ok().filter(|url| url.host_str().is_some());
            url.ok_or_else(|| CeremonyError::Origin(origin.to_owned()))
        };
        let url = parse(origin)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let related: Vec<_> = related.iter().map(|origin| parse(origin)).collect::<Result<_, _>>()?;
        let origins = [vec![url], related].concat();
        let core =
            WebauthnCore::new_unsafe_experts_only(name, &host, origins, TIMEOUT, Some(false), Some(false));
        Ok(Self { core, rp_id: host })
    }

    /// Returns the RP ID: the host of the server.
    pub fn rp_id(&self) -> &str {
        &self.rp_id
    }

    /// Starts a registration. Returns the options for the browser and the state to keep until it answers.
    ///
    /// Prefers a discoverable credential but does not require one: an old security key is a good second factor.
    pub fn begin_registration(
        &self,
        handle: &[u8],
        user_name: &str,
        display_name: &str,
        present: &[Passkey],
        attestation: Attestation,
    ) -> Result<(Value, PendingRegistration), CeremonyError> {
        let exclude = present.iter().map(|passkey| passkey.credential.cred_id.clone()).collect();
        let conveyance = match attestation {
            Attestation::None => AttestationConveyancePreference::None,
            Attestation::Direct => AttestationConveyancePreference::Direct,
        };
        let builder = self
            .core
            .new_challenge_register_builder(handle, user_name, display_name)
            .map_err(CeremonyError::Begin)?
            .attestation(conveyance)
            .user_verification_policy(UserVerificationPolicy::Preferred)
            .exclude_credentials(Some(exclude));
        let (options, state) =
            self.core.generate_challenge_register(builder).map_err(CeremonyError::Begin)?;
        let mut options = public_key(&options);
        if let Some(selection) = options.get_mut("authenticatorSelection").and_then(Value::as_object_mut) {
            selection.insert("residentKey".into(), "preferred".into());
            selection.insert("requireResidentKey".into(), false.into());
        }
        Ok((options, PendingRegistration(state)))
    }

    /// Verifies a registration and returns the new passkey.
    ///
    /// An invalid attestation is refused. An attestation in an unsupported form is treated as absent, because a
    /// client can always omit it. For a valid one, the passkey records how far it verifies the model.
    pub fn finish_registration(
        &self,
        pending: &PendingRegistration,
        credential: &Value,
        creation: Creation,
        makers: &dyn TrustAnchors,
        now: Timestamp,
    ) -> Result<Passkey, CeremonyError> {
        let malformed = |error: &dyn std::fmt::Display| CeremonyError::Malformed(error.to_string());
        let mut answer =
            RegisterPublicKeyCredential::deserialize(credential).map_err(|error| malformed(&error))?;
        if creation == Creation::Conditional {
            // The library requires the flag for user presence of every registration.
            let present = with_presence(&answer.response.attestation_object);
            answer.response.attestation_object =
                present.ok_or_else(|| malformed(&"no authenticator data"))?;
        }
        let object = &answer.response.attestation_object;
        let aaguid = aaguid(object).ok_or_else(|| malformed(&"no authenticator data"))?;
        let chain = chain(object);
        if chain.len() > MAX_CHAIN {
            return Err(malformed(&"its attestation contains too many certificates"));
        }
        let mut made = self.core.register_credential(&answer, &pending.0, None);
        if made.as_ref().is_err_and(is_not_understood) {
            let without = without_attestation(&answer.response.attestation_object);
            answer.response.attestation_object =
                without.ok_or_else(|| malformed(&"no authenticator data"))?;
            made = self.core.register_credential(&answer, &pending.0, None);
        }
        let mut made = made.map_err(CeremonyError::Refused)?;
        // U2F attestations do not sign the AAGUID, so it has to be zero (WebAuthn Level 3, section 8.6).
        if made.attestation_format == AttestationFormat::FIDOU2F && aaguid != Aaguid::NONE {
            return Err(CeremonyError::Contradiction(
                "the attestation is U2F, which proves no model, but the response names one",
            ));
        }
        let trust = trust(&made.attestation.data, &chain, &makers.roots(aaguid), now);
        // The statement is evaluated. Drop its certificates, which are long.
        made.attestation.data = ParsedAttestationData::None;
        let is_platform = match credential.get("authenticatorAttachment").and_then(Value::as_str) {
            Some("platform") => Some(true),
            Some("cross-platform") => Some(false),
            _ => None,
        };
        Ok(Passkey { credential: made, aaguid, trust, is_platform })
    }

    /// Starts an assertion with one of these passkeys. If `allowed` is empty, the user may pick any passkey, and user
    /// verification is required.
    pub fn begin_assertion(&self, allowed: &[Passkey]) -> Result<(Value, PendingAssertion), CeremonyError> {
        let credentials: Vec<_> = allowed.iter().map(|passkey| passkey.credential.clone()).collect();
        let policy = if credentials.is_empty() {
            UserVerificationPolicy::Required
        } else {
            UserVerificationPolicy::Preferred
        };
        let builder = self
            .core
            .new_challenge_authenticate_builder(credentials, Some(policy))
            .map_err(CeremonyError::Begin)?
            .allow_backup_eligible_upgrade(true);
        let (options, mut state) =
            self.core.generate_challenge_authenticate(builder).map_err(CeremonyError::Begin)?;
        // The caller looks them up again when the response arrives.
        state.set_allowed_credentials(Vec::new());
        Ok((public_key(&options), PendingAssertion(state)))
    }

    /// Verifies an assertion of this passkey.
    pub fn finish_assertion(
        &self,
        pending: &PendingAssertion,
        assertion: &Assertion,
        passkey: &Passkey,
    ) -> Result<VerifiedAssertion, CeremonyError> {
        let result = self
            .core
            .authenticate_single_credential(&assertion.0, &pending.0, &passkey.credential)
            .map_err(CeremonyError::Refused)?;
        let mut passkey = passkey.clone();
        passkey.credential.counter = result.counter();
        passkey.credential.backup_state = result.backup_state();
        passkey.credential.backup_eligible = result.backup_eligible();
        Ok(VerifiedAssertion { user_verified: result.user_verified(), passkey })
    }
}

/// Unwraps the options from their outer member.
fn public_key(options: &impl Serialize) -> Value {
    let mut wrapped = serde_json::to_value(options).unwrap_or_default();
    wrapped.get_mut("publicKey").map(Value::take).unwrap_or_default()
}

/// Returns the `user.id` of a user's passkeys: 52 characters that identify tenant and user, without personal data.
pub fn user_handle(tenant: &TenantId, user: &UserId) -> Vec<u8> {
    [tenant.key(), user.key()].concat().into_bytes()
}

/// Parses the tenant and user from a user handle.
pub fn user_of_handle(handle: &[u8]) -> Option<(TenantId, UserId)> {
    let text = std::str::from_utf8(handle).ok()?;
    let (tenant, user) = text.split_at_checked(text.len() / 2)?;
    Some((TenantId::from_key(tenant).ok()?, UserId::from_key(user).ok()?))
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    #[test]
    fn user_handle_identifies_tenant_and_user() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let (tenant, user) = (TenantId::new(&env), UserId::new(&env));
        let handle = user_handle(&tenant, &user);
        assert!(handle.len() <= 64, "WebAuthn allows at most 64 bytes");
        assert_eq!(user_of_handle(&handle), Some((tenant, user)));
        for odd in [&b""[..], b"x", &handle[..51], "é".as_bytes()] {
            assert_eq!(user_of_handle(odd), None);
        }
    }

    #[test]
    fn origin_without_host_name_is_refused() {
        assert!(Passkeys::new("Gatehouse", "https://gate.example.com", &[]).is_ok());
        assert!(Passkeys::new("Gatehouse", "http://localhost:8080", &[]).is_ok());
        assert!(Passkeys::new("Gatehouse", "nonsense", &[]).is_err());
    }

    #[test]
    fn options_have_the_members_browsers_expect() {
        let passkeys = Passkeys::new("Gatehouse", "https://gate.example.com", &[]).unwrap();
        let begun = passkeys.begin_registration(b"handle", "ada", "Ada", &[], Attestation::None).unwrap();
        let options = begun.0;
        assert_eq!(options["rp"]["id"], "gate.example.com");
        assert_eq!(options["attestation"], "none");
        assert_eq!(options["authenticatorSelection"]["residentKey"], "preferred");
        assert_eq!(options["user"]["id"], "aGFuZGxl");
        let (options, pending) = passkeys.begin_assertion(&[]).unwrap();
        assert_eq!(options["userVerification"], "required");
        assert_eq!(options["rpId"], "gate.example.com");
        let kept = serde_json::to_string(&pending).unwrap();
        assert!(kept.contains(options["challenge"].as_str().unwrap()));
        assert!(Assertion::read(&serde_json::json!({ "id": 1 })).is_err());
    }
}
