//! Styles, modules and images, embedded in the binary so that they match its version.

use std::sync::LazyLock;

use actix_web::{HttpRequest, HttpResponse, get, web};

use gate::{document::Document, errors::Problem, shape::AreaProblem};

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// File name, media type, content.
const FILES: [(&str, &str, &str); 56] = [
    ("gatehouse.css", CSS, include_str!("../../assets/gatehouse.css")),
    ("parts.css", CSS, include_str!("../../assets/parts.css")),
    ("log.css", CSS, include_str!("../../assets/log.css")),
    ("audit-log.css", CSS, include_str!("../../assets/audit-log.css")),
    ("views.css", CSS, include_str!("../../assets/views.css")),
    ("sso.css", CSS, include_str!("../../assets/sso.css")),
    ("webhooks.css", CSS, include_str!("../../assets/webhooks.css")),
    ("developers.css", CSS, include_str!("../../assets/developers.css")),
    ("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
    ("api.js", JS, include_str!("../../assets/js/api.js")),
    ("page.js", JS, include_str!("../../assets/js/page.js")),
    ("elements.js", JS, include_str!("../../assets/js/elements.js")),
    ("resource.js", JS, include_str!("../../assets/js/resource.js")),
    ("passkeys.js", JS, include_str!("../../assets/js/passkeys.js")),
    ("factors.js", JS, include_str!("../../assets/js/factors.js")),
    ("login.js", JS, include_str!("../../assets/js/login.js")),
    ("login-sso.js", JS, include_str!("../../assets/js/login-sso.js")),
    ("saml-post.js", JS, include_str!("../../assets/js/saml-post.js")),
    ("saml-refused.js", JS, include_str!("../../assets/js/saml-refused.js")),
    ("enrol.js", JS, include_str!("../../assets/js/enrol.js")),
    ("session.js", JS, include_str!("../../assets/js/session.js")),
    ("stepup.js", JS, include_str!("../../assets/js/stepup.js")),
    ("drawn.js", JS, include_str!("../../assets/js/drawn.js")),
    ("policy.js", JS, include_str!("../../assets/js/policy.js")),
    ("network.js", JS, include_str!("../../assets/js/network.js")),
    ("authenticators.js", JS, include_str!("../../assets/js/authenticators.js")),
    ("security.js", JS, include_str!("../../assets/js/security.js")),
    ("audit-proofs.js", JS, include_str!("../../assets/js/audit-proofs.js")),
    ("audit-entries.js", JS, include_str!("../../assets/js/audit-entries.js")),
    ("audit-chart.js", JS, include_str!("../../assets/js/audit-chart.js")),
    ("audit-checkpoint.js", JS, include_str!("../../assets/js/audit-checkpoint.js")),
    ("audit-log.js", JS, include_str!("../../assets/js/audit-log.js")),
    ("sso-words.js", JS, include_str!("../../assets/js/sso-words.js")),
    ("sso-head.js", JS, include_str!("../../assets/js/sso-head.js")),
    ("sso-domains.js", JS, include_str!("../../assets/js/sso-domains.js")),
    ("sso.js", JS, include_str!("../../assets/js/sso.js")),
    ("sso-form.js", JS, include_str!("../../assets/js/sso-form.js")),
    ("sso-guide.js", JS, include_str!("../../assets/js/sso-guide.js")),
    ("sso-new.js", JS, include_str!("../../assets/js/sso-new.js")),
    ("sso-setup.js", JS, include_str!("../../assets/js/sso-setup.js")),
    ("sso-settings.js", JS, include_str!("../../assets/js/sso-settings.js")),
    ("sso-certificates.js", JS, include_str!("../../assets/js/sso-certificates.js")),
    ("sso-reasons.js", JS, include_str!("../../assets/js/sso-reasons.js")),
    ("sso-report.js", JS, include_str!("../../assets/js/sso-report.js")),
    ("sso-test.js", JS, include_str!("../../assets/js/sso-test.js")),
    ("sso-provider.js", JS, include_str!("../../assets/js/sso-provider.js")),
    ("webhook-words.js", JS, include_str!("../../assets/js/webhook-words.js")),
    ("webhook-events.js", JS, include_str!("../../assets/js/webhook-events.js")),
    ("webhook-secret.js", JS, include_str!("../../assets/js/webhook-secret.js")),
    ("webhook-head.js", JS, include_str!("../../assets/js/webhook-head.js")),
    ("webhook-chart.js", JS, include_str!("../../assets/js/webhook-chart.js")),
    ("webhook-deliveries.js", JS, include_str!("../../assets/js/webhook-deliveries.js")),
    ("webhook.js", JS, include_str!("../../assets/js/webhook.js")),
    ("webhook-new.js", JS, include_str!("../../assets/js/webhook-new.js")),
    ("webhook-settings.js", JS, include_str!("../../assets/js/webhook-settings.js")),
    ("webhooks.js", JS, include_str!("../../assets/js/webhooks.js")),
];

static DOCUMENTS: LazyLock<Vec<Document>> =
    LazyLock::new(|| FILES.into_iter().map(|(_, kind, text)| Document::new(kind, text).0).collect());

/// Serves an asset. Browsers revalidate it on each use, so that a page and its modules always have the same version.
#[get("/assets/{file}")]
pub(crate) async fn asset(
    request: HttpRequest,
    file: web::Path<String>,
) -> Result<HttpResponse, AreaProblem> {
    let place = FILES.iter().position(|(name, ..)| *name == *file);
    match place.and_then(|place| DOCUMENTS.get(place)) {
        Some(document) => Ok(document.answer(&request)),
        None => Err(AreaProblem::of(&request, Problem::not_found())),
    }
}
