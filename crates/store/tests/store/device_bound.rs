//! Sessions that are bound to a key.

use kernel::{Ctx, Id, StoreError, TenantId, UserId};
use serde_json::json;
use sessions::{
    DeviceSessionStore, Method, NewSession, SessionStore, Standing,
    device_bound::{DeviceBinding, DeviceKey},
};
use store::Tx;

use crate::support::on_both;

fn key(letter: &str) -> DeviceKey {
    let coordinate = format!("{}A", letter.repeat(42));
    serde_json::from_value(json!({ "kty": "EC", "crv": "P-256", "x": coordinate, "y": coordinate })).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_found_by_their_key_also_under_another_id_but_not_in_another_tenant() {
    on_both(async |world| {
        let tenant = world.ctx().tenant;
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let new = NewSession {
                user: UserId::new(&*ctx.env),
                device_label: "device".into(),
                location: None,
                standing: Standing::Full,
                methods: vec![Method::Password],
                signed_in_at: None,
                foreign: None,
                grace: None,
                not_after: None,
            };
            let session = sessions::open(ctx, tx, new).await?.unwrap();
            assert_eq!(tx.session(&session.id).await?.unwrap().device, None);
            let mut binding = DeviceBinding { key: key("B"), bound_at: ctx.now, challenged_at: ctx.now };
            tx.set_device(&session.id, &binding).await?;
            binding.challenged_at = ctx.now.plus_millis(1);
            tx.set_device(&session.id, &binding).await?;
            let renamed = Id::new(&*ctx.env);
            tx.rename_session(&session.id, &renamed, ctx.now).await?;
            // Updates of other columns leave the key.
            tx.update_session(&sessions::Session { id: renamed.clone(), ..session }).await?;
            let found = tx.session_of_key(&key("B").thumbprint()).await?.unwrap();
            assert_eq!((&found.id, found.device.as_ref()), (&renamed, Some(&binding)));
            assert_eq!(tx.session_of_key(&key("C").thumbprint()).await?, None);
            assert!(tx.revoke_session(&renamed, ctx.now).await?);
            let found = tx.session_of_key(&key("B").thumbprint()).await?.unwrap();
            assert_eq!(found.revoked_at, Some(ctx.now));
            Ok(())
        };
        world.change(&tenant, work).await.unwrap();
        let elsewhere = TenantId::new(&*world.env);
        let look = async |tx: &mut Tx| tx.session_of_key(&key("B").thumbprint()).await;
        assert_eq!(world.store.read::<_, StoreError>(elsewhere, look).await.unwrap(), None);
    })
    .await;
}
