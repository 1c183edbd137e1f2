//! Attacks that succeeded once, written down so that they fail.

mod old_links;
