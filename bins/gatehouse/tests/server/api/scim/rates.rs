use crate::support::{Server, on_both};
use store::testing::Kind;

const USERS: &str = "/api/scim/v2/Users";

#[test]
fn rate_limit_applies_only_to_the_tenant_that_exceeds_it() {
    for kind in Kind::ALL {
        // The tests' tenants are in the middle tier.
        let server = Server::start(kind, &[("scim_rates", "1,2,1000")]);
        let (eager, patient) = (server.tenant("eager"), server.tenant("patient"));
        let answers: Vec<_> = (0..8).map(|_| eager.scim.get(USERS)).collect();
        let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
        assert_eq!(
            answers.iter().take(4).filter(|answer| answer.status == 200).count(),
            4,
            "bursts of twice the rate are allowed"
        );
        assert!(!refused.is_empty());
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused[0].shown(), @r#"429 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"429","detail":"Too many requests for this tenant. Try again in 1 s."}"#);
        }
        assert_eq!(refused[0].header("retry-after"), "1");
        assert_eq!(patient.scim.get(USERS).status, 200);
        assert_eq!(eager.scim.bearer("nonsense").get(USERS).status, 401, "credentials are checked first");
        assert_eq!(server.anonymous().get("/api/scim/v2/ServiceProviderConfig").status, 200);
        // After `Retry-After` the tenant is served again.
        let seconds = refused[0].header("retry-after").parse().unwrap();
        std::thread::sleep(std::time::Duration::from_secs(seconds));
        assert_eq!(eager.scim.get(USERS).status, 200);
    }
}

#[test]
fn default_rates_allow_a_full_sync() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        assert!((0..300).all(|_| scim.get("/api/scim/v2/ResourceTypes").status == 200));
    });
}
