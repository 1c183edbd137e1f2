//! Sends mail over SMTP.

use directory::{Message, Person};
use kernel::Email;
use lettre::{
    AsyncSmtpTransport, AsyncTransport, Tokio1Executor,
    message::{Mailbox, header::ContentType},
};
use std::time::Duration;

use crate::config::{self, Settings};

/// Timeout of the mail server.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A mail server, and the sender of the mail.
pub(crate) struct Mail {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mail {
    /// Returns the mail server of these settings, if mail is configured.
    pub(crate) fn new(settings: &Settings, base_url: &str) -> Result<Option<Self>, config::Error> {
        let Some(url) = &settings.smtp_url else { return Ok(None) };
        let wrong = |name: &str, problem: &str| config::Error::new(format!("{name}: {problem}"));
        // The error omits the URL, which may contain a password.
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose())
            .map_err(|_| {
                wrong("smtp_url", "write smtps://user:password@host or smtp://host:587?tls=required")
            })?
            .timeout(Some(TIMEOUT))
            .build();
        let host = base_url.split("://").nth(1).unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        let from = settings.smtp_from.clone().unwrap_or_else(|| format!("Gatehouse <no-reply@{host}>"));
        let from = from.parse().map_err(|_| wrong("smtp_from", "write Name <address@example.com>"))?;
        Ok(Some(Self { transport, from }))
    }

    /// Sends a message to each of these users who has an address. Logs each failure with its user.
    pub(crate) async fn send_to_all(&self, people: &[Person], message: &Message) {
        for person in people {
            let Some(email) = &person.email else { continue };
            if let Err(error) = self.send(email, message.clone()).await {
                tracing::warn!(
                    user = person.id.as_str(),
                    subject = message.subject,
                    %error,
                    "cannot send a message to an administrator"
                );
            }
        }
    }

    /// Sends a message to a user.
    pub(crate) async fn send(
        &self,
        to: &Email,
        Message { subject, text }: Message,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let message = lettre::Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to.as_str().parse()?))
            .subject(subject)
            .header(ContentType::TEXT_PLAIN)
            .body(text)?;
        self.transport.send(message).await?;
        Ok(())
    }
}
