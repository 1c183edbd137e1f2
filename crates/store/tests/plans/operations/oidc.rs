//! OpenID providers and sign-in requests.

use kernel::{Ctx, StoreResult};
use saml_sp::{ClaimedRequest, ProviderStore, Refresh};
use sign_in::{
    EndedAtProvider, ProviderSession, ProviderSessionStore,
    sso::oidc::{OidcProvider, OidcStore},
};
use store::Tx;

#[path = "../../store/oidc_values.rs"]
mod values;

/// Creates, uses, maintains and removes OpenID providers.
pub(super) async fn run(ctx: &Ctx, tx: &mut Tx) -> StoreResult<()> {
    let refresh = Refresh { next_at: Some(ctx.now.plus_millis(-1)), ..Refresh::default() };
    let one = OidcProvider { refresh, ..values::provider(&*ctx.env, &ctx.tenant, "a.example") };
    tx.insert_oidc_provider(&one).await?;
    let domains = vec!["b.example".parse().unwrap()];
    tx.update_oidc_provider(&OidcProvider { email_domains: domains, ..one.clone() }).await?;
    assert_eq!(tx.domains_of_providers().await?.len(), 1);
    let later = Refresh { next_at: Some(ctx.now), ..Refresh::default() };
    tx.update_oidc_provider(&OidcProvider { refresh: later, ..one.clone() }).await?;
    assert!(tx.current_oidc_provider(&one.id).await?.is_some());
    tx.unpin_subjects_of_provider(&one.id).await?;
    assert!(tx.take_due_oidc_provider(&one.id, ctx.now, ctx.now.plus_millis(60_000)).await?.is_some());
    let request = values::request(&one, 1, ctx.now.plus_millis(600_000));
    tx.insert_oidc_request(&request).await?;
    for claimed in [ClaimedRequest::Now(request.clone()), ClaimedRequest::Before] {
        let found = tx.claim_oidc_request(&request.state, &one.id, Some(&request.browser), ctx.now).await?;
        assert_eq!(found, claimed);
    }
    let session = kernel::Id::new(&*ctx.env);
    let at = ProviderSession {
        provider: one.id.clone(),
        subject: [1; 32],
        session: Some([2; 32]),
        logout_hint: None,
    };
    tx.set_provider_session(&session, &at).await?;
    for ended in [
        EndedAtProvider::Session { session: [2; 32], subject: Some([1; 32]) },
        EndedAtProvider::Session { session: [2; 32], subject: None },
        EndedAtProvider::Subject([1; 32]),
    ] {
        assert_eq!(tx.users_at_provider(&one.id, &ended).await?, []);
        assert_eq!(tx.revoke_at_provider(&one.id, &ended, ctx.now, ctx.now).await?, []);
    }
    tx.remember_ended(&one.id, &[2; 32], ctx.now.plus_millis(1 << 40)).await?;
    assert!(tx.has_ended(&one.id, &[2; 32]).await?);
    assert_eq!(tx.provider_session(&session).await?, None);
    assert_eq!(tx.oidc_providers().await?.len(), 1);
    assert!(tx.delete_oidc_provider(&one.id).await? && tx.oidc_provider(&one.id).await?.is_none());
    Ok(())
}
