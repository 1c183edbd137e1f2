//! Refused responses. Before the user is known, all refusals show the same page; the audit log has the reason.

use std::time::Duration;

use credentials::SignInMode;
use directory::Role;
use kernel::Env;
use serde_json::json;

use super::{Site, add, body, give};
use crate::support::{Browser, Idp, Sent, Server, on_both};

/// Returns a modified response for the user with this address.
fn response_with(
    server: &Server,
    site: &Site,
    sent: &Sent,
    change: impl FnOnce(&mut crate::support::Says),
) -> String {
    let mut says = sent.says("ada@corp.example", server.env.now());
    change(&mut says);
    site.idp.response(&says)
}

fn refused(server: &Server, site: &Site, browser: &Browser, response: &str, reason: &str) {
    let answer = site.post(&browser.with("Accept", "application/json"), response, "");
    let body = answer.json();
    assert_eq!((answer.status, &body["code"]), (401, &json!("SAML_REFUSED")), "{reason}: {}", answer.text);
    assert!(body.get("reason").is_none(), "an attacker learns nothing: {body}");
    assert!(answer.cookies().iter().all(|cookie| cookie.name() != "as_sid"));
    let recorded = site.refusals(server);
    assert!(recorded.iter().any(|data| data["reason"] == reason), "{reason} is not among {recorded:?}");
}

#[test]
fn request_is_answered_once_by_its_provider_in_its_browser_before_expiry() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let good = |sent: &Sent| response_with(server, &site, sent, |_| {});

        let browser = server.browser();
        let sent = site.begin(&browser, "");
        refused(server, &site, &server.browser(), &good(&sent), "OTHER_BROWSER");
        let kept = browser.cookies.borrow().clone();
        assert_eq!(
            site.post(&browser, &good(&sent), &sent.relay_state).status,
            303,
            "a refused response does not consume the request"
        );
        *browser.cookies.borrow_mut() = kept;
        refused(server, &site, &browser, &good(&sent), "REQUEST_ALREADY_ANSWERED");

        // The same assertion with a signed `InResponseTo` of another request.
        let second = site.begin(&browser, "");
        let again =
            response_with(server, &site, &second, |says| says.assertion_id = format!("_a{}", sent.id()));
        refused(server, &site, &browser, &again, "ASSERTION_REPLAYED");

        let unsolicited = response_with(server, &site, &second, |says| says.in_response_to = None);
        refused(server, &site, &browser, &unsolicited, "UNSOLICITED");
        let made_up = format!("_{}", "0".repeat(40));
        let unknown = response_with(server, &site, &second, |says| says.in_response_to = Some(made_up));
        refused(server, &site, &browser, &unknown, "REQUEST_UNKNOWN_OR_EXPIRED");

        let late = site.begin(&browser, "");
        server.env.advance(Duration::from_mins(11));
        refused(server, &site, &browser, &good(&late), "REQUEST_UNKNOWN_OR_EXPIRED");
    });
}

#[test]
fn response_of_another_connection_is_refused() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        // Another connection of the same tenant to the same identity provider.
        let mut twin = body(&site.idp, &["other.example"]);
        twin["name"] = json!("Twin");
        let twin = add(server, &site.admin, &twin)["id"].as_str().unwrap().to_owned();
        let browser = server.browser();
        let sent = site.begin(&browser, "");
        let to_twin = response_with(server, &site, &sent, |says| {
            says.acs = says.acs.replace(&site.id, &twin);
            says.audience = says.audience.replace(&site.id, &twin);
        });
        refused(server, &site, &browser, &to_twin, "WRONG_DESTINATION");
        let at_twin = Site {
            id: twin,
            tenant: server.tenant("unused"),
            admin: browser.clone(),
            idp: Idp::new("x.example"),
        };
        let answer = at_twin.post(&browser.with("Accept", "application/json"), &to_twin, "");
        assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("SAML_REFUSED")));
        let recorded = site.refusals(server);
        assert!(recorded.iter().any(|data| data["reason"] == "REQUEST_UNKNOWN_OR_EXPIRED"), "{recorded:?}");
        // A connection of another tenant, with its own directory and audit log.
        let neighbour = Site::new(server, "globex");
        server.person(&neighbour.tenant, "ada@corp.example", Role::Member);
        let foreign = neighbour.post(
            &browser.with("Accept", "application/json"),
            &response_with(server, &site, &sent, |_| {}),
            "",
        );
        assert_eq!(foreign.status, 401);
        assert_eq!(neighbour.refusals(server).len(), 1);
        assert_eq!(
            site.post(&browser, &response_with(server, &site, &sent, |_| {}), &sent.relay_state).status,
            303
        );
    });
}

#[test]
fn unknown_keys_and_modified_responses_are_refused() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = server.browser();
        let sent = site.begin(&browser, "");
        let says = sent.says("ada@corp.example", server.env.now());
        refused(server, &site, &browser, &site.idp.rekeyed().response(&says), "SIGNATURE_INVALID");
        let text = |response: &str| {
            String::from_utf8(data_encoding::BASE64.decode(response.as_bytes()).unwrap()).unwrap()
        };
        let signed = text(&site.idp.response(&says));
        let encoded = |text: &str| data_encoding::BASE64.encode(text.as_bytes());
        refused(server, &site, &browser, &encoded(&signed.replace("ada@", "eve@")), "DIGEST_MISMATCH");
        let (head, rest) = signed.split_once("<ds:Signature ").unwrap();
        let unsigned = format!("{head}{}", rest.split_once("</ds:Signature>").unwrap().1);
        refused(server, &site, &browser, &encoded(&unsigned), "UNSIGNED");
        refused(server, &site, &browser, &encoded(&format!("<!DOCTYPE a>{signed}")), "FORBIDDEN_MARKUP");
        refused(server, &site, &browser, "%%%", "NOT_BASE64");
        // The body has the same limit as the field, and the body limit applies first.
        assert_eq!(site.post(&browser, &"A".repeat(1024 * 1024), "").status, 413);
        refused(server, &site, &browser, "", "RESPONSE_MISSING");
        assert_eq!(site.post(&browser, &encoded(&signed), &sent.relay_state).status, 303);
    });
}

#[test]
fn users_learn_the_reason_after_all_checks_of_the_response_passed() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let ada = server.person(&site.tenant, "ada@corp.example", Role::Member);
        let code = |email: &str| {
            let browser = server.browser().with("Accept", "application/json");
            let answer = site.sign_in(server, &browser, email);
            assert!(answer.cookies().iter().all(|cookie| cookie.name() != "as_sid"));
            (answer.status, answer.json()["code"].as_str().unwrap_or_default().to_owned())
        };
        assert_eq!(code("nobody@corp.example"), (401, "NOT_PROVISIONED".into()));
        assert_eq!(code("ada@elsewhere.example"), (401, "SAML_REFUSED".into()));
        server.policy(&site.tenant, |policy| policy.sign_in_mode = SignInMode::CredentialsOnly);
        assert_eq!(code("nobody@corp.example"), (401, "NOT_PROVISIONED".into()));
        assert_eq!(code("ada@corp.example"), (401, "SSO_NOT_ALLOWED".into()));
        server.policy(&site.tenant, |policy| policy.sign_in_mode = SignInMode::SsoRequired);
        server.disable(&site.tenant, &ada.id);
        assert_eq!(code("ada@corp.example"), (401, "ACCOUNT_DISABLED".into()));
        let recorded = site.refusals(server);
        let reasons: Vec<_> = recorded.iter().map(|data| data["reason"].as_str().unwrap()).collect();
        for reason in ["NOT_PROVISIONED", "EMAIL_DOMAIN_NOT_ALLOWED", "SSO_NOT_ALLOWED", "ACCOUNT_DISABLED"] {
            assert!(reasons.contains(&reason), "{reasons:?}");
        }
        let disabled = recorded.iter().find(|data| data["reason"] == "ACCOUNT_DISABLED").unwrap();
        assert_eq!(disabled["user"], ada.id.as_str());

        let page = site.sign_in(server, &server.browser().with("Accept", "text/html"), "nobody@corp.example");
        assert_eq!((page.status, page.header("content-type")), (401, "text/html; charset=utf-8"));
        let reference = page.header("x-request-id").to_owned();
        for word in ["NOT_PROVISIONED", reference.as_str(), "acme"] {
            assert!(page.text.contains(word), "{word}: {}", page.text);
        }
        assert!(!page.text.contains("nobody@"), "the page does not repeat the response");
        assert!(page.header("content-security-policy").contains("script-src 'self'"));
    });
}

#[test]
fn network_policy_applies_to_saml_sign_ins() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let proved = server.proved(&site.admin, "NETWORK_POLICY_CHANGE");
        let policy = json!({
            "mode": "ALLOWLIST",
            "enforcement": { "SIGN_IN": true, "DASHBOARD": false, "API": false },
            "adminBypass": true,
        });
        let set = proved.put("/api/settings/network-policy", &policy);
        assert_eq!(set.status, 200, "{}", set.text);
        let answer =
            site.sign_in(server, &server.browser().with("Accept", "application/json"), "ada@corp.example");
        assert_eq!((answer.status, &answer.json()["code"]), (403, &json!("NETWORK_POLICY_BLOCKED")));
        let entries = server.entries(&site.tenant);
        assert!(entries.iter().any(|entry| entry.action == "ACCOUNT_NETWORK_POLICY_BLOCKED"));
    });
}

#[test]
fn connection_cannot_sign_in_users_of_a_domain_verified_by_another_tenant() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let owner = server.tenant("globex");
        server.write(&owner.id, async |ctx, tx| {
            let domain = saml_sp::VerifiedDomain {
                domain: "corp.example".parse().unwrap(),
                method: saml_sp::Method::Operator,
                verified_at: ctx.now,
                token: None,
            };
            saml_sp::DomainStore::insert_verified_domain(tx, &domain).await
        });
        let answer =
            site.sign_in(server, &server.browser().with("Accept", "application/json"), "ada@corp.example");
        assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("SAML_REFUSED")));
        assert_eq!(site.refusals(server)[0]["reason"], "EMAIL_DOMAIN_OF_ANOTHER_TENANT");
    });
}

#[test]
fn concurrent_posts_of_one_response_sign_in_once() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        server.person(&site.tenant, "ada@corp.example", Role::Member);
        let browser = server.browser();
        let sent = site.begin(&browser, "");
        let response = response_with(server, &site, &sent, |_| {});
        let done: Vec<u16> = std::thread::scope(|scope| {
            let tries: Vec<_> = (0..16)
                .map(|_| {
                    let (browser, response, path) = (browser.clone(), &response, site.path("acs"));
                    scope.spawn(move || give(&browser, &path, response, "").status)
                })
                .collect();
            tries.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(done.iter().filter(|status| **status == 303).count(), 1, "{done:?}");
        assert_eq!(done.iter().filter(|status| **status == 401).count(), 15, "{done:?}");
    });
}

#[test]
fn only_form_bodies_are_accepted() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let caller = server.anonymous();
        assert_eq!(caller.send("POST", &site.path("acs"), Some("application/json"), "{}").status, 415);
        let large = format!("SAMLResponse={}", "A".repeat(1_100_000));
        let form = Some("application/x-www-form-urlencoded");
        assert_eq!(caller.send("POST", &site.path("acs"), form, &large).status, 413);
        let twice = "SAMLResponse=AA&SAMLResponse=AA";
        let answer = caller.with("Accept", "application/json").send("POST", &site.path("acs"), form, twice);
        assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("SAML_REFUSED")));
        assert_eq!(site.refusals(server)[0]["reason"], "RESPONSE_MISSING");
    });
}
