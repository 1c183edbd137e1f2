//! The server-rendered pages. `cargo xtask browser` tests them in a browser.

mod administration;
mod assets;
mod own;
mod visitors;

use crate::support::{Answer, Browser, Server};

/// Returns the browser with the headers of a page request.
fn page_client(browser: &Browser) -> Browser {
    browser.with("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
}

fn visitor(server: &Server) -> Browser {
    page_client(&server.browser())
}

fn assert_redirect(answer: &Answer, place: &str) {
    assert_eq!((answer.status, answer.header("location")), (303, place), "{}", answer.text);
}
