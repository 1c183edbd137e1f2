//! Sessions that end at the identity provider's `SessionNotOnOrAfter`.

use directory::{NewPerson, NewTenant, PeopleStore, Role, Tenant, TenantStore, Tier};
use kernel::{Ctx, StoreError};
use sessions::{Lifetime, Method, NewSession, SessionStore, Standing};
use store::{Across, Tx};

use crate::support::{World, on_both};

#[tokio::test(flavor = "multi_thread")]
async fn session_keeps_its_given_end() {
    on_both(async |world: World| {
        let new = NewTenant { slug: "acme".into(), name: "Acme".into(), tier: Tier::Standard };
        let acme = Tenant::new(&*world.env, new).unwrap();
        let tenant = acme.id.clone();
        let lifetime = Lifetime { idle_minutes: 60, absolute_days: 1 };
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            tx.insert_tenant(&acme).await?;
            let new = NewPerson {
                email: "ada@example.com".parse().unwrap(),
                role: Role::Admin,
                display_name: None,
            };
            let ada = directory::create_person(ctx, tx, new).await.unwrap();
            assert!(tx.person(&ada.id).await?.is_some());
            let new = NewSession {
                user: ada.id.clone(),
                device_label: "device".into(),
                location: None,
                standing: Standing::Full,
                methods: vec![Method::Sso],
                signed_in_at: None,
                foreign: None,
                grace: None,
                not_after: Some(ctx.now.plus_millis(60_000)),
            };
            let ends = sessions::open(ctx, tx, new.clone()).await?.unwrap();
            let goes_on = sessions::open(ctx, tx, NewSession { not_after: None, ..new }).await?.unwrap();
            assert_eq!(tx.session(&ends.id).await?.as_ref(), Some(&ends));
            let seen = sessions::Session { last_seen_at: ctx.now.plus_millis(1), ..ends.clone() };
            tx.update_session(&seen).await?;
            assert_eq!(tx.session(&ends.id).await?, Some(seen), "an update must not extend it");
            Ok((ends, goes_on))
        };
        let (ends, goes_on) = world.change(&tenant, work).await.unwrap();
        let (begun, end) = (ends.created_at, ends.not_after.unwrap());
        let (of, key) = (tenant.clone(), store::CredentialKey::Session(ends.id.clone()));
        let look = async move |across: &mut Across| across.credential(&of, &key).await;
        let Some(store::Credential::Session(found, _)) = world.store.across(look).await.unwrap() else {
            panic!("the session was not found")
        };
        assert!(!lifetime.is_over(&found, end.plus_millis(-1)) && lifetime.is_over(&found, end));
        // Read in its last moment, and then at its end.
        let one = vec![goes_on.id.to_string()];
        let mut both = vec![ends.id.to_string(), goes_on.id.to_string()];
        both.sort();
        for (now, wanted) in [(end.plus_millis(-1), both), (end, one)] {
            let recent = async move |tx: &mut Tx| tx.recent(begun, now, lifetime).await;
            let found = world.store.read::<_, StoreError>(tenant.clone(), recent).await.unwrap();
            let mut found: Vec<_> = found.into_iter().map(|one| one.id).collect();
            found.sort();
            assert_eq!(found, wanted);
        }
    })
    .await;
}
