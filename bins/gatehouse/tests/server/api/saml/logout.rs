//! Single logout: the identity provider ends sessions, and users end their session there.

use std::time::Duration;

use directory::Role;
use saml_sp::{
    Against, Binding, Incoming, LogoutStatus, Outgoing, Provider, ServiceProvider, examine_logout_request,
    examine_logout_response,
};
use serde_json::json;

use super::Site;
use crate::support::{Answer, Browser, Server, code, on_both};

const BINDINGS: [Binding; 2] = [Binding::Post, Binding::Redirect];

fn site(server: &Server, binding: Binding) -> Site {
    let slug = if binding == Binding::Post { "post" } else { "redirect" };
    let site = Site::new(server, slug);
    let body = json!({
        "name": "Corp", "emailDomains": ["corp.example"], "signOutAtProvider": true,
        "metadataXml": site.idp.metadata_with_logout(binding),
    });
    let path = format!("/api/settings/saml-providers/{}", site.id);
    let changed = server.proved(&site.admin, "SSO_PROVIDER_CHANGE").put(&path, &body);
    assert_eq!(changed.status, 200, "{}", changed.text);
    assert_eq!(changed.json()["warnings"].as_array().map(Vec::len), Some(1), "only about the domain");
    site
}

impl Site {
    /// Signs in with this session at the identity provider.
    fn signed_in(&self, server: &Server, email: &str, index: &'static str) -> Browser {
        let browser = server.browser();
        let sent = self.begin(&browser, "");
        let mut says = sent.says(email, kernel::Env::now(&*server.env));
        says.session_index = Some(index);
        let answer = self.post(&browser, &self.idp.response(&says), &sent.relay_state);
        assert_eq!(answer.status, 303, "{:?}", self.refusals(server));
        assert_eq!(browser.get("/api/me").status, 200);
        browser
    }

    fn slo_url(&self) -> String {
        let path = format!("/api/settings/saml-providers/{}", self.id);
        self.admin.get(&path).json()["serviceProvider"]["sloUrl"].as_str().unwrap().to_owned()
    }
}

/// Brings a message to the single logout service, as a browser that the identity provider has sent.
fn deliver(browser: &Browser, outgoing: &Outgoing) -> Answer {
    let from = browser.with("Origin", "https://idp.example").with("Sec-Fetch-Site", "cross-site");
    match outgoing {
        Outgoing::Url(url) => from.with("Sec-Fetch-Mode", "navigate").get(local(url)),
        Outgoing::Form { action, fields } => {
            let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
            from.form(local(action), &form)
        }
    }
}

/// Returns the path and the query of a URL of this service.
fn local(url: &str) -> &str {
    let at = url.find("/api/saml/").unwrap_or_else(|| panic!("{url}"));
    &url[at..]
}

/// Returns the message that a response sends to `location`, as the identity provider reads it.
fn sent(answer: &Answer, field: &str, location: &str) -> String {
    if answer.status == 303 {
        let url = answer.header("location");
        let query = url.strip_prefix(&format!("{location}?")).unwrap_or_else(|| panic!("{url}"));
        return query.to_owned();
    }
    assert_eq!(answer.status, 200, "{}", answer.text);
    let text = answer.text.replace("&#38;", "&").replace("&amp;", "&");
    assert!(text.contains(&format!("action=\"{location}\"")), "{text}");
    let rest = text.split_once(&format!("name=\"{field}\"")).unwrap().1;
    rest.split_once("value=\"").unwrap().1.split('"').next().unwrap().to_owned()
}

fn incoming(binding: Binding, message: &str) -> Incoming<'_> {
    match binding {
        Binding::Post => Incoming::Field(message),
        Binding::Redirect => Incoming::Query(message),
    }
}

/// Returns this service as the identity provider sees it: an issuer with our certificate.
fn seen_by_idp(server: &Server, site: &Site) -> Provider {
    let mut provider = server.saml_provider(&site.tenant, &site.id);
    provider.idp.entity_id = site.slo_url().replace("/slo", "/metadata");
    provider.idp.certificates = vec![provider.keys.active.certificate.clone()];
    provider
}

/// Asserts that an answer brings a successful LogoutResponse to the identity provider.
fn assert_responded(server: &Server, site: &Site, binding: Binding, answer: &Answer, request: &str) {
    let location = format!("{}/slo/response", site.idp.entity_id);
    let message = sent(answer, "SAMLResponse", &location);
    let (provider, service) =
        (seen_by_idp(server, site), ServiceProvider { slo_url: location, ..site.idp.as_service() });
    let against =
        Against { provider: &provider, service: &service, keys: &[], now: kernel::Env::now(&*server.env) };
    let response = examine_logout_response(incoming(binding, &message), &against).unwrap();
    assert_eq!(response.get().in_response_to.as_deref(), Some(request));
    assert!(response.get().is_success);
}

#[test]
fn identity_provider_ends_one_session_or_all_of_a_user() {
    on_both(|server| {
        for binding in BINDINGS {
            let site = site(server, binding);
            for name in ["ada", "bob"] {
                server.person(&site.tenant, &format!("{name}@corp.example"), Role::Member);
            }
            let [first, second] = ["s1", "s2"].map(|index| site.signed_in(server, "ada@corp.example", index));
            let other = site.signed_in(server, "bob@corp.example", "s1");
            let request = |index| {
                site.idp.logout_request(binding, &site.slo_url(), "ada@corp.example", index, &*server.env)
            };
            let sent = request(Some("s1"));
            let answer = deliver(&first, &sent.outgoing);
            assert_responded(server, &site, binding, &answer, sent.id.as_str());
            let ended = first.get("/api/me");
            assert_eq!((ended.status, &ended.json()["code"]), (401, &json!("SESSION_REVOKED")));
            server.second(|address| assert_eq!(first.at(address).get("/api/me").status, 401));
            assert_eq!((second.get("/api/me").status, other.get("/api/me").status), (200, 200));
            let entry = server.entry(&site.tenant, "ACCOUNT_SESSION_REVOKED");
            assert_eq!((entry.actor_type.as_str(), entry.actor_id.as_str()), ("SAML", site.id.as_str()));

            let third = site.signed_in(server, "ada@corp.example", "s3");
            let sent = request(None);
            let answer = deliver(&server.browser(), &sent.outgoing);
            assert_responded(server, &site, binding, &answer, sent.id.as_str());
            assert_eq!((second.get("/api/me").status, third.get("/api/me").status), (401, 401));
            assert_eq!(other.get("/api/me").status, 200);
        }
    });
}

#[test]
fn hostile_logout_requests_end_nothing() {
    on_both(|server| {
        for binding in BINDINGS {
            let site = site(server, binding);
            server.person(&site.tenant, "ada@corp.example", Role::Member);
            let browser = site.signed_in(server, "ada@corp.example", "s1");
            let request = |idp: &crate::support::Idp, slo_url: &str| {
                idp.logout_request(binding, slo_url, "ada@corp.example", Some("s1"), &*server.env).outgoing
            };
            let refused = |outgoing: &Outgoing, reason: &str| {
                let answer = deliver(&server.browser().with("Accept", "application/json"), outgoing);
                let code = &answer.json()["code"];
                assert_eq!((answer.status, code), (400, &json!("SAML_LOGOUT_REFUSED")), "{reason}");
                let entries = server.entries(&site.tenant);
                let is_recorded = entries.iter().any(|entry| {
                    entry.action == "ACCOUNT_SAML_LOGOUT_REFUSED" && entry.metadata.contains(reason)
                });
                assert!(is_recorded, "{reason}: {entries:?}");
                assert_eq!(browser.get("/api/me").status, 200, "{reason}");
            };
            refused(&request(&site.idp.rekeyed(), &site.slo_url()), "SIGNATURE_INVALID");
            let elsewhere = request(&site.idp, &site.slo_url().replace("/slo", "/acs"));
            let elsewhere = match elsewhere {
                Outgoing::Url(url) => Outgoing::Url(url.replace("/acs?", "/slo?")),
                Outgoing::Form { fields, .. } => Outgoing::Form { action: site.slo_url(), fields },
            };
            refused(&elsewhere, "WRONG_DESTINATION");
            let unsigned = match request(&site.idp, &site.slo_url()) {
                Outgoing::Url(url) => Outgoing::Url(url.split("&SigAlg=").next().unwrap().to_owned()),
                Outgoing::Form { action, .. } => Outgoing::Form { action, fields: Vec::new() },
            };
            refused(&unsigned, if binding == Binding::Post { "RESPONSE_MISSING" } else { "UNSIGNED" });
            let page = deliver(&server.browser(), &unsigned);
            assert_eq!((page.status, page.text.contains("You may still be signed in")), (400, true));

            let good = request(&site.idp, &site.slo_url());
            assert!(deliver(&browser, &good).status < 400);
            assert_eq!(browser.get("/api/me").status, 401);
            let again = deliver(&server.browser().with("Accept", "application/json"), &good);
            assert_eq!(again.status, 400, "each request is consumed once");
        }
    });
}

#[test]
fn sign_out_continues_at_the_identity_provider() {
    on_both(|server| {
        let other = Site::new(server, "other");
        for binding in BINDINGS {
            let site = site(server, binding);
            server.person(&site.tenant, "ada@corp.example", Role::Member);
            let browser = site.signed_in(server, "ada@corp.example", "s1");
            let out = browser.post("/api/auth/sign-out", &json!({})).json();
            let url = out["logoutUrl"].as_str().unwrap_or_else(|| panic!("{out}"));
            assert_eq!(browser.get("/api/me").status, 401);
            let location = format!("{}/slo", site.idp.entity_id);
            let answer = browser.get(local(url));
            let message = sent(&answer, "SAMLRequest", &location);
            let (provider, service) = (seen_by_idp(server, &site), site.idp.as_service());
            let now = kernel::Env::now(&*server.env);
            let against = Against { provider: &provider, service: &service, keys: &[], now };
            let request = examine_logout_request(incoming(binding, &message), &against).unwrap();
            assert_eq!(request.get().name_id, "ada@corp.example");
            assert_eq!(request.get().session_indexes, ["s1"]);

            for (status, place) in [
                (LogoutStatus::Success, "/auth/login?reason=SIGNED_OUT"),
                (LogoutStatus::Refused, "/auth/login?reason=SIGNED_OUT_HERE"),
            ] {
                let id = &request.get().id;
                let response = site.idp.logout_response(binding, &site.slo_url(), id, status, &*server.env);
                let back = deliver(&browser, &response);
                assert_eq!((back.status, back.header("location")), (303, place), "{}", back.text);
            }
            // A token that somebody changed, or got at another connection.
            let changed = if url.ends_with('A') { "B" } else { "A" };
            let forged = format!("{}{changed}", &url[..url.len() - 1]);
            let elsewhere = url.replace(&site.id, &other.id);
            for url in [forged.as_str(), elsewhere.as_str(), url.split_once('?').unwrap().0] {
                let answer = browser.get(local(url));
                let place = answer.header("location");
                assert_eq!((answer.status, place), (303, "/auth/login?reason=SIGNED_OUT_HERE"), "{url}");
            }
            server.env.advance(Duration::from_mins(6));
            let late = browser.get(local(url));
            assert_eq!(late.header("location"), "/auth/login?reason=SIGNED_OUT_HERE");
        }
    });
}

#[test]
fn identity_provider_ends_a_sign_in_that_waits_for_a_second_factor() {
    on_both(|server| {
        for binding in BINDINGS {
            let site = site(server, binding);
            // The address is in one tenant only, so that the sign-in by password needs no choice.
            let ada = format!("ada-{}@corp.example", site.tenant.id.key());
            let (_, own) = server.signed_in(&site.tenant, &ada, Role::Member);
            let app = own.post("/api/me/factors/totp", &json!({})).json();
            let secret = app["secret"].as_str().unwrap();
            let proof = json!({ "id": app["id"], "code": code(secret, server, 0) });
            assert_eq!(own.post("/api/me/factors/totp/verify", &proof).status, 200);
            server.env.advance(Duration::from_mins(1));
            let browser = server.browser();
            let sent = site.begin(&browser, "");
            let mut says = sent.says(&ada, kernel::Env::now(&*server.env));
            says.session_index = Some("s1");
            let answer = site.post(&browser, &site.idp.response(&says), &sent.relay_state);
            assert_eq!(answer.status, 303, "{:?}", site.refusals(server));
            let waiting = browser.post("/api/auth/sign-in/resume", &json!({})).json();
            assert_eq!(waiting["status"], "MFA_REQUIRED", "{waiting}");
            let slo_url = site.slo_url();
            let sent = site.idp.logout_request(binding, &slo_url, &ada, Some("s1"), &*server.env);
            let answer = deliver(&server.browser(), &sent.outgoing);
            assert_responded(server, &site, binding, &answer, sent.id.as_str());
            let late = browser.verify(&waiting["ticket"], "TOTP", &code(secret, server, 0));
            assert_eq!((late.status, &late.json()["code"]), (401, &json!("SESSION_REVOKED")));
            assert_eq!(own.get("/api/me").status, 200, "signed in by password");
        }
    });
}

#[test]
fn logout_of_one_user_leaves_the_session_index_to_another() {
    on_both(|server| {
        for binding in BINDINGS {
            let site = site(server, binding);
            for name in ["ada", "bob"] {
                server.person(&site.tenant, &format!("{name}@corp.example"), Role::Member);
            }
            let ada = site.signed_in(server, "ada@corp.example", "s1");
            let (slo_url, name_id) = (site.slo_url(), "ada@corp.example");
            let sent = site.idp.logout_request(binding, &slo_url, name_id, Some("s1"), &*server.env);
            assert!(deliver(&ada, &sent.outgoing).status < 400);
            // The next user of the same browser, at an identity provider that keeps its session's index.
            let bob = site.signed_in(server, "bob@corp.example", "s1");
            assert_eq!((ada.get("/api/me").status, bob.get("/api/me").status), (401, 200));
        }
    });
}

#[test]
fn sign_in_redirects_to_an_identity_provider_without_http_post() {
    on_both(|server| {
        let site = Site::with(server, "acme", |body| {
            let metadata = body["metadataXml"].as_str().unwrap();
            body["metadataXml"] = json!(metadata.replace("bindings:HTTP-POST", "bindings:HTTP-Redirect"));
        });
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = server.browser();
        let answer = browser.get(&site.path("login"));
        assert!(answer.header("location").contains("&SigAlg="), "{}", answer.header("location"));
        let request = crate::support::sent(&answer);
        assert_eq!(request.action, format!("{}/sso", site.idp.entity_id));
        let says = request.says("ada@corp.example", kernel::Env::now(&*server.env));
        let answer = site.post(&browser, &site.idp.response(&says), &request.relay_state);
        assert_eq!(answer.status, 303, "{:?}", site.refusals(server));
        assert_eq!(browser.get("/api/me").status, 200);
    });
}
