//! Messages to users.

use kernel::Timestamp;

use crate::LinkKind;

/// A message by email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The subject.
    pub subject: &'static str,
    /// The text, with a line break at the end.
    pub text: String,
}

impl Message {
    /// Writes the message with a link, which leads to `address`.
    pub fn link(kind: LinkKind, address: &str) -> Self {
        let (subject, first) = match kind {
            LinkKind::Invitation => ("You are invited", "You have been invited to sign in."),
            LinkKind::Reset => {
                ("Set a new password", "An administrator has asked you to set a new password.")
            }
        };
        let until = lifetime(kind);
        let text = format!(
            "{first}\n\nOpen this address to choose a password. It works once, within {until}:\n\n{address}\n\n\
             If you did not expect this, tell your administrator and do not open it.\n"
        );
        Self { subject, text }
    }

    /// Writes the message with a link that somebody asked for who forgot the password.
    pub fn forgotten_password(tenant: &str, address: &str) -> Self {
        let until = lifetime(LinkKind::Reset);
        let text = format!(
            "Somebody asked for a new password for your account at {tenant}.\n\nOpen this address to choose one. It \
             works once, within {until}:\n\n{address}\n\nIf you did not ask for it, ignore this message. Your password \
             stays as it is.\n"
        );
        Self { subject: "Choose a new password", text }
    }

    /// Writes the message that an administrator has removed the user's second factors.
    pub fn factors_reset() -> Self {
        let text = "An administrator has removed your second factors and recovery codes, and has signed you out \
                    everywhere. Set up a new second factor when you sign in next.\n\n\
                    If you did not expect this, tell your administrator.\n";
        Self { subject: "Your second factors were removed", text: text.to_owned() }
    }

    /// Writes the message that the removals of a SCIM token are paused, with the address of the page that decides.
    pub fn removals_paused(tenant: &str, token: &str, removed: u64, address: &str) -> Self {
        let text = format!(
            "The SCIM token {token} has deactivated or deleted {removed} users of {tenant} within an hour and asks for \
             more. That exceeds the limit, so Gatehouse paused its removals: the other users stay until you decide.\n\n\
             Open this address to see the users, and remove or keep them:\n\n{address}\n\n\
             If your directory should not remove these users, correct it first.\n"
        );
        Self { subject: "Your directory removes many users", text }
    }

    /// Writes the message that a webhook fails and when the server disables it.
    pub fn webhook_failing(
        tenant: &str,
        webhook: &str,
        since: Timestamp,
        end: Timestamp,
        address: &str,
    ) -> Self {
        let text = format!(
            "The webhook {webhook} of {tenant} has accepted no delivery since {}. Gatehouse keeps retrying. If \
             deliveries still fail at {}, Gatehouse disables the webhook.\n\n\
             Open this address to see the responses of the receiver:\n\n{address}\n",
            minutes(since),
            minutes(end)
        );
        Self { subject: "A webhook fails", text }
    }

    /// Writes the message that a log stream fails.
    pub fn log_stream_failing(
        tenant: &str,
        stream: &str,
        since: Timestamp,
        problem: &str,
        address: &str,
    ) -> Self {
        let text = format!(
            "The receiver of the log stream {stream} of {tenant} has accepted no audit entries since {} ({problem}). \
             Gatehouse keeps trying, and sends all entries once the receiver accepts them.\n\n\
             Open this address to see what is wrong:\n\n{address}\n",
            minutes(since)
        );
        Self { subject: "A log stream fails", text }
    }

    /// Writes the message that the server has disabled a webhook.
    pub fn webhook_disabled(tenant: &str, webhook: &str, reason: &str, address: &str) -> Self {
        let text = format!(
            "Gatehouse has disabled the webhook {webhook} of {tenant}: {reason}. Pending deliveries wait for up to 30 \
             days. Events that happen until you enable the webhook are not recorded for it; you can replay them.\n\n\
             Open this address to see the deliveries and enable the webhook:\n\n{address}\n"
        );
        Self { subject: "A webhook was disabled", text }
    }
}

/// Writes a time to the minute.
fn minutes(time: Timestamp) -> String {
    format!("{} UTC", time.to_string().get(..16).unwrap_or_default().replace('T', " "))
}

/// Writes how long a link works.
fn lifetime(kind: LinkKind) -> String {
    match kind.hours() {
        1 => "one hour".to_owned(),
        hours => format!("{hours} hours"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_with_a_link_states_how_long_it_works() {
        for (kind, until) in
            [(LinkKind::Invitation, "within 72 hours:"), (LinkKind::Reset, "within one hour:")]
        {
            let text = Message::link(kind, "https://gate.example/links#x").text;
            assert!(text.contains(until) && text.contains("\n\nhttps://gate.example/links#x\n\n"), "{text}");
        }
    }

    #[test]
    fn times_are_written_to_the_minute() {
        assert_eq!(minutes("2026-01-02T03:04:05.678Z".parse().unwrap()), "2026-01-02 03:04 UTC");
    }
}
