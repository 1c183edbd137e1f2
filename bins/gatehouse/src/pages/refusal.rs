//! Error responses for pages: a redirect to the sign-in page, or a page that explains the error.

use actix_web::{HttpResponse, ResponseError, http::header};
use askama::Template;

use super::{frame::draw_as, next::address};
use gate::errors::Problem;

#[derive(Template)]
#[template(path = "refusal.html")]
struct Page<'a> {
    status: u16,
    title: &'a str,
    message: String,
}

/// Responds to a request for the page `target` that failed with this problem.
pub(crate) fn problem_page(problem: &Problem, target: &str) -> HttpResponse {
    let status = problem.status_code();
    let mut answer = match (status.as_u16(), problem.why()) {
        (401, _) if problem.code() == "UNAUTHENTICATED" => to(address("/auth/login", &[("next", target)])),
        (401, _) => to(address("/auth/login", &[("next", target), ("reason", problem.code())])),
        (403, Some("MFA_REQUIRED")) => to(address("/auth/login", &[("next", target), ("continue", "1")])),
        _ => {
            let title = match status.as_u16() {
                403 => "You don't have access to this page",
                404 => "Page not found",
                405 => "Method not allowed",
                503 => "Service unavailable",
                _ => "Something went wrong",
            };
            let page = Page { status: status.as_u16(), title, message: sentence(problem.message()) };
            let Ok(answer) = draw_as(status, &page) else { return problem.envelope() };
            answer
        }
    };
    let headers = problem.envelope();
    for name in [header::ALLOW, header::RETRY_AFTER] {
        if let Some(value) = headers.headers().get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    problem.attach_to(&mut answer);
    answer
}

fn to(place: String) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((header::LOCATION, place)).finish()
}

/// Turns an API error message into a sentence.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let end = if message.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
