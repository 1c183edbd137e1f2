//! A tenant with an OpenID Connect connection whose provider is also a transmitter.

use kernel::{Env, Timestamp};
use oidc_rp::conformance::Signer;
use serde_json::{Value, json};

use super::TRANSMITTERS;
use crate::{
    api::oidc,
    support::{Answer, Browser, Server},
};

const AUDIENCE: &str = "https://gate.example/";
const CAEP: &str = "https://schemas.openid.net/secevent/caep/event-type/";
const RISC: &str = "https://schemas.openid.net/secevent/risc/event-type/";
const SSF: &str = "https://schemas.openid.net/secevent/ssf/event-type/";

/// Returns the URI of an event type.
pub(crate) fn uri(name: &str) -> String {
    let namespace = match name {
        "verification" | "stream-updated" => SSF,
        name if name.starts_with("account-") || name.starts_with("credential-comp") => RISC,
        _ => CAEP,
    };
    format!("{namespace}{name}")
}

pub(crate) struct Site {
    pub(crate) oidc: oidc::Site,
    /// The transmitter as the API shows it, with the header of its requests.
    pub(crate) transmitter: Value,
}

impl Site {
    /// Adds a transmitter whose events have these consequences.
    pub(crate) fn new(server: &Server, consequences: &Value) -> Self {
        let oidc = oidc::Site::new(server);
        oidc.provider.serve_transmitter();
        let body = body(&oidc, consequences);
        let transmitter = add(server, &oidc.admin, &body);
        assert_eq!(transmitter.status, 200, "{}", transmitter.text);
        assert_eq!(transmitter.header("cache-control"), "no-store");
        Self { oidc, transmitter: transmitter.json() }
    }

    /// Returns the path of the transmitter in the settings.
    pub(crate) fn settings(&self) -> String {
        format!("{TRANSMITTERS}/{}", self.transmitter["id"].as_str().unwrap())
    }

    /// Changes the transmitter.
    pub(crate) fn change(&self, server: &Server, change: &Value) -> Answer {
        server.proved(&self.oidc.admin, "SSO_PROVIDER_CHANGE").send("PATCH", &self.settings(), Some(change))
    }

    /// Returns the subject of the user with this address.
    pub(crate) fn user(&self, email: &str) -> Value {
        self.oidc.provider.subject(email)
    }

    /// Returns the claims of a token about an event that happened at this time.
    pub(crate) fn claims(&self, jti: &str, event: &str, subject: &Value, at: Timestamp) -> Value {
        let seconds = at.unix_millis() / 1000;
        let payload = match event {
            "credential-change" => json!({ "credential_type": "password", "change_type": "update" }),
            "credential-compromise" => json!({ "credential_type": "password" }),
            "assurance-level-change" => {
                json!({ "namespace": "NIST-AAL", "current_level": "nist-aal1", "change_direction": "decrease" })
            }
            "device-compliance-change" => {
                json!({ "previous_status": "compliant", "current_status": "not-compliant" })
            }
            "risk-level-change" => json!({ "principal": "USER", "current_level": "HIGH" }),
            "stream-updated" => json!({ "status": "paused", "reason": "Maintenance" }),
            _ => json!({}),
        };
        json!({
            "iss": self.oidc.provider.issuer, "aud": AUDIENCE, "jti": jti, "iat": seconds, "toe": seconds,
            "sub_id": subject, "events": { uri(event): payload },
        })
    }

    /// Signs claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.oidc.provider.event_token(claims)
    }

    pub(crate) fn sign(&self, signer: Signer, header: &Value, claims: &Value) -> String {
        let signing = &self.oidc.provider.signer;
        signing.sign(signer, header.to_string().as_bytes(), claims.to_string().as_bytes())
    }

    /// Posts a token.
    pub(crate) fn post(&self, server: &Server, token: &str) -> Answer {
        post_as(server, &self.transmitter, self.transmitter["authorization"].as_str(), token)
    }

    /// Posts a token about an event of now, which must be accepted.
    pub(crate) fn accepted(&self, server: &Server, jti: &str, event: &str, subject: &Value) {
        self.accepted_at(server, jti, event, subject, server.env.now());
    }

    /// Posts a token about an event of this time, which must be accepted.
    pub(crate) fn accepted_at(
        &self,
        server: &Server,
        jti: &str,
        event: &str,
        subject: &Value,
        at: Timestamp,
    ) {
        let answer = self.post(server, &self.token(&self.claims(jti, event, subject, at)));
        assert_eq!((answer.status, answer.text.as_str()), (202, ""), "{:?}", self.refusals(server));
    }

    /// Signs in the user with this address, with this ID of the session at the provider.
    pub(crate) fn signed_in(&self, server: &Server, email: &str, session: &'static str) -> Browser {
        let browser = server.browser();
        let answer = self.oidc.sign_in_with(server, &browser, email, |claims| {
            claims.insert("sid".into(), session.into());
        });
        assert_eq!(answer.status, 303, "{:?}", self.oidc.refusals(server));
        browser
    }

    /// Returns the payloads of audit entries with this code, newest first.
    pub(crate) fn entries(&self, server: &Server, code: &str) -> Vec<Value> {
        let entries = server.entries(&self.oidc.tenant).into_iter();
        let wanted = entries.filter(|entry| entry.action == code);
        wanted.map(|entry| serde_json::from_str(&entry.metadata).unwrap()).collect()
    }

    pub(crate) fn refusals(&self, server: &Server) -> Vec<Value> {
        self.entries(server, "ACCOUNT_SIGNAL_REFUSED")
    }

    /// Returns the audit entry of a received event.
    pub(crate) fn received(&self, server: &Server, jti: &str) -> Value {
        let entries = self.entries(server, "ACCOUNT_SIGNAL_RECEIVED");
        let mut of_it = entries.into_iter().filter(|entry| entry["jti"] == jti);
        let entry = of_it.next().unwrap_or_else(|| panic!("no entry of {jti}"));
        assert_eq!(of_it.next(), None, "{jti} has one entry");
        entry
    }
}

/// Returns the body that adds the provider as a transmitter.
pub(crate) fn body(oidc: &oidc::Site, consequences: &Value) -> Value {
    json!({
        "name": "Corp", "issuer": oidc.provider.issuer, "audience": AUDIENCE, "connectionId": oidc.id,
        "consequences": consequences,
    })
}

/// Adds a transmitter.
pub(crate) fn add(server: &Server, admin: &Browser, body: &Value) -> Answer {
    server.proved(admin, "SSO_PROVIDER_CHANGE").post(TRANSMITTERS, body)
}

/// Posts a token to a transmitter's endpoint with this header.
pub(crate) fn post_as(server: &Server, transmitter: &Value, header: Option<&str>, token: &str) -> Answer {
    let caller = server.anonymous();
    let caller = match header {
        Some(header) => caller.with("Authorization", header),
        None => caller,
    };
    caller.send("POST", endpoint(transmitter), Some("application/secevent+jwt"), token)
}

/// Returns the path that a transmitter posts to.
pub(crate) fn endpoint(transmitter: &Value) -> &str {
    let url = transmitter["endpointUrl"].as_str().unwrap();
    url.find("/api/").map_or(url, |start| &url[start..])
}
