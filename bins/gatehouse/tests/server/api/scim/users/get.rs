use super::USERS;
use crate::support::{ada, on_both};

#[test]
fn a_user_is_read_as_it_was_created() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let made = scim.post(USERS, &ada()).json();
        let read = scim.get(&format!("{USERS}/{}", made["id"].as_str().unwrap()));
        assert_eq!((read.status, read.json()), (200, made));
    });
}

#[test]
fn unknown_malformed_and_other_tenants_ids_get_the_same_404() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let foreign =
            server.tenant("globex").scim.post(USERS, &ada()).json()["id"].as_str().unwrap().to_owned();
        let unknown = format!("{}0", &foreign[..foreign.len() - 1]);
        let answers: Vec<_> = [foreign.as_str(), unknown.as_str(), "x", "usr_%00", "%ff", "a%2Fb"]
            .iter()
            .map(|id| scim.get(&format!("{USERS}/{id}")).shown())
            .collect();
        assert!(answers.iter().all(|answer| answer == &answers[0]), "{answers:?}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(answers[0], @r#"404 {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"404","detail":"There is no resource with this ID."}"#);
        }
    });
}
