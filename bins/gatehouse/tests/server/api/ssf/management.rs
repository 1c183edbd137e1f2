//! Receivers, and the management of streams.

use serde_json::{Value, json};

use super::{RECEIVERS, STREAM, Site, post};
use crate::support::{Caller, on_both};

const CAEP: &str = "https://schemas.openid.net/secevent/caep/event-type/session-revoked";
const PURGED: &str = "https://schemas.openid.net/secevent/risc/event-type/account-purged";

fn send(caller: &Caller, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let answer = caller.send(method, path, Some("application/json"), &body.to_string());
    (answer.status, serde_json::from_str(&answer.text).unwrap_or_default())
}

#[test]
fn administrators_manage_receivers() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let listed = site.admin.get(RECEIVERS).json();
        let shown = &listed["receivers"][0];
        assert_eq!((&shown["enabled"], &shown["stream"]), (&json!(true), &Value::Null), "{listed}");
        assert_eq!(shown["subjectFormat"], "ISS_SUB");
        assert_eq!(shown["eventTypes"].as_array().unwrap().len(), 12);
        assert!(!listed.to_string().contains("ssf_"), "the token is shown only once");
        assert!(listed["issuer"].as_str().unwrap().ends_with(&site.transmitter()));
        let change = |body: &Value| site.admin.send("PATCH", &site.path, Some(body));
        let changed = change(&json!({ "name": "Wages", "eventTypes": [CAEP] }));
        assert_eq!(
            (changed.status, &changed.json()["eventTypes"]),
            (200, &json!([CAEP])),
            "{}",
            changed.text
        );
        for (wrong, beginning) in
            [(json!({ "name": " " }), "name: "), (json!({ "eventTypes": ["x"] }), "eventTypes[0]: ")]
        {
            let refused = change(&wrong);
            assert_eq!(refused.status, 400, "{wrong}");
            assert!(refused.json()["error"].as_str().unwrap().starts_with(beginning), "{}", refused.text);
        }
        // The previous token is refused at once.
        assert_eq!(site.receiver.get(STREAM).status, 200);
        let replaced = site.admin.send("POST", &format!("{}/replace-token", site.path), None).json();
        assert_eq!(site.receiver.get(STREAM).status, 401);
        let receiver = server.anonymous().bearer(replaced["token"].as_str().unwrap());
        assert_eq!(receiver.get(STREAM).json(), json!([]));
        assert_eq!(site.admin.delete(&site.path).status, 200);
        assert_eq!((site.admin.get(&site.path).status, receiver.get(STREAM).status), (404, 401));
        let codes: Vec<_> = server.entries(&site.tenant).into_iter().map(|entry| entry.action).collect();
        for code in ["CREATED", "UPDATED", "TOKEN_REPLACED", "DELETED"] {
            let code = format!("ACCOUNT_SIGNAL_RECEIVER_{code}");
            assert!(codes.contains(&code), "{code}");
        }
    });
}

#[test]
fn receiver_manages_its_stream() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let metadata = format!("/.well-known/ssf-configuration{}", site.transmitter());
        let metadata = site.anybody.get(&metadata).json();
        assert_eq!(
            (&metadata["spec_version"], &metadata["default_subjects"]),
            (&json!("1_0"), &json!("ALL"))
        );
        assert!(metadata["configuration_endpoint"].as_str().unwrap().ends_with(STREAM));
        let made =
            site.stream(&json!({ "events_requested": [CAEP, PURGED, "urn:unknown"], "description": "d" }));
        assert_eq!(made["iss"], metadata["issuer"]);
        assert_eq!(made["aud"], "https://payroll.example/");
        assert_eq!(made["delivery"]["method"], "urn:ietf:rfc:8936");
        assert_eq!(made["events_requested"], json!([CAEP, PURGED, "urn:unknown"]));
        assert_eq!(made["events_delivered"], json!([CAEP, PURGED]));
        let id = &made["stream_id"];
        let at = |path: &str| format!("{path}?stream_id={}", id.as_str().unwrap());
        assert_eq!(site.receiver.get(&at(STREAM)).json(), made);
        assert_eq!(site.receiver.get(STREAM).json(), json!([made]));
        assert_eq!(post(&site.receiver, STREAM, &json!({})).status, 409);
        let receiver = &site.receiver;
        let (status, changed) =
            send(receiver, "PATCH", STREAM, &json!({ "stream_id": id, "events_requested": [CAEP] }));
        assert_eq!((status, &changed["events_delivered"]), (200, &json!([CAEP])));
        assert_eq!(changed["description"], "d");
        for (wrong, member) in [
            (json!({ "stream_id": id, "iss": "https://other.example" }), "iss"),
            (json!({ "stream_id": id, "aud": "other" }), "aud"),
            (json!({ "stream_id": id, "events_delivered": [] }), "events_delivered"),
            (json!({}), "stream_id"),
            (json!({ "stream_id": id, "delivery": { "method": "urn:x" } }), "delivery.method"),
            (
                json!({ "stream_id": id, "delivery": { "method": "urn:ietf:rfc:8935" } }),
                "delivery.endpoint_url",
            ),
        ] {
            let (status, refused) = send(receiver, "PATCH", STREAM, &wrong);
            assert_eq!(status, 400, "{wrong}");
            assert!(refused["error"].as_str().unwrap().starts_with(member), "{refused}");
        }
        let replaced = json!({ "stream_id": id, "delivery": { "method": "urn:ietf:rfc:8935", "endpoint_url": "http://127.0.0.1:9/x", "authorization_header": "Bearer x" } });
        let (status, replaced) = send(receiver, "PUT", STREAM, &replaced);
        assert_eq!((status, &replaced["description"]), (200, &Value::Null), "{replaced}");
        assert_eq!(
            replaced["delivery"],
            json!({ "method": "urn:ietf:rfc:8935", "endpoint_url": "http://127.0.0.1:9/x" })
        );
        let (status, _) = send(
            receiver,
            "POST",
            "/api/ssf/status",
            &json!({ "stream_id": id, "status": "paused", "reason": "work" }),
        );
        assert_eq!(status, 200);
        let shown = receiver.get(&at("/api/ssf/status")).json();
        assert_eq!(shown, json!({ "stream_id": id, "status": "paused", "reason": "work" }));
        assert_eq!(receiver.delete(&at(STREAM)).status, 204);
        assert_eq!(receiver.get(&at(STREAM)).status, 404);
        assert_eq!(receiver.get(&at("/api/ssf/status")).status, 404);
    });
}

#[test]
fn streams_of_other_receivers_and_tenants_are_unknown() {
    on_both(|server| {
        let (acme, globex) = (Site::new(server, "acme"), Site::new(server, "globex"));
        let made = acme.stream(&json!({}));
        let id = made["stream_id"].as_str().unwrap();
        let other = acme.admin.post(RECEIVERS, &json!({ "name": "Other", "audience": "other" })).json();
        let other = server.anonymous().bearer(other["token"].as_str().unwrap());
        for caller in [&globex.receiver, &other] {
            let subject = json!({ "format": "email", "email": "x@example.com" });
            for (method, path, body) in [
                ("PATCH", STREAM, json!({ "stream_id": id })),
                ("POST", "/api/ssf/status", json!({ "stream_id": id, "status": "disabled" })),
                ("POST", "/api/ssf/verify", json!({ "stream_id": id })),
                ("POST", "/api/ssf/subjects/remove", json!({ "stream_id": id, "subject": subject })),
                ("POST", &format!("/api/ssf/poll/{id}"), json!({ "returnImmediately": true })),
            ] {
                assert_eq!(send(caller, method, path, &body).0, 404, "{method} {path}");
            }
            assert_eq!(caller.get(&format!("{STREAM}?stream_id={id}")).status, 404);
            assert_eq!(caller.delete(&format!("{STREAM}?stream_id={id}")).status, 404);
        }
        // A token of a receiver opens nothing else.
        let refused = acme.receiver.get("/api/me");
        assert_eq!((refused.status, &refused.json()["reason"]), (403, &json!("CREDENTIAL_KIND")));
        assert_eq!(acme.receiver.get("/api/scim/v2/Users").status, 403);
        assert_eq!(acme.tenant.scim.get(STREAM).status, 403);
    });
}

#[test]
fn key_is_rotated_and_the_previous_one_stays_published_for_30_days() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let jwks = || site.anybody.get(&format!("{}/jwks", site.transmitter())).json()["keys"].clone();
        let first = jwks();
        assert_eq!(first.as_array().unwrap().len(), 1);
        let rotated = site.admin.send("POST", "/api/settings/signals/rotate-key", None);
        assert_eq!(rotated.status, 200, "{}", rotated.text);
        assert_eq!(jwks(), rotated.json()["keys"]);
        assert_eq!((jwks().as_array().unwrap().len(), &jwks()[1]), (2, &first[0]));
        let stream = site.stream(&json!({}));
        site.create_user("ada");
        // Signed with the new key.
        let claims = site.poll(&stream, &json!({ "returnImmediately": true })).json();
        let token = claims["sets"].as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
        let header =
            data_encoding::BASE64URL_NOPAD.decode(token.split('.').next().unwrap().as_bytes()).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        assert_eq!(header["kid"], jwks()[0]["kid"]);
        server.env.advance(std::time::Duration::from_hours(30 * 24 + 1));
        assert_eq!(jwks().as_array().unwrap().len(), 1);
    });
}
