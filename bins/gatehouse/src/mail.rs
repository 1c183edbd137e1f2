//! Sends mail over SMTP.

use directory::{Message, Person};
use kernel::Email;
use lettre::{
    AsyncSmtpTransport, AsyncTransport, Tokio1Executor,
    message::{Mailbox, header::ContentType},
};
use std::{num::NonZeroU32, time::Duration};

use gate::rate_limit::RateLimit;

use crate::config::{self, Settings};

/// Timeout of the mail server.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Notices about one tenant or user in an hour, each to at most 50 recipients.
const NOTICES: NonZeroU32 = NonZeroU32::new(20).unwrap();

/// A mail server, and the sender of the mail.
pub(crate) struct Mail {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    notices: RateLimit<String>,
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
        Ok(Some(Self { transport, from, notices: RateLimit::per_hour(NOTICES) }))
    }

    /// Sends a message about a tenant or user, whose ID is `about`, to each of these users who has an address. Beyond 20
    /// messages in an hour on this instance, it is logged and not sent. Logs each failure with its user.
    pub(crate) async fn notify(&self, about: &str, people: &[Person], message: &Message) {
        if self.notices.count(&about.to_owned()).is_err() {
            tracing::warn!(
                about,
                subject = message.subject,
                "did not send a message, because there were too many"
            );
            return;
        }
        for person in people {
            let Some(email) = &person.email else { continue };
            if let Err(error) = self.send(email, message.clone()).await {
                tracing::warn!(
                    user = person.id.as_str(),
                    subject = message.subject,
                    %error,
                    "cannot send a message to a user"
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

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use directory::{MemoryPeople, NewPerson, Role, create_person};
    use kernel::{Ctx, SystemEnv, TenantId};
    use tokio::net::TcpListener;

    use super::*;
    use crate::config::Raw;

    #[tokio::test]
    async fn notices_about_a_tenant_are_limited() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut raw = Raw::default();
        raw.set("smtp_url", format!("smtp://{}", listener.local_addr().unwrap())).unwrap();
        let mail = Mail::new(&raw.settings().unwrap(), "https://gate.example.com").unwrap().unwrap();
        let tried = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&tried);
        // A mail server that closes each connection.
        tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        let ctx = Ctx::system(TenantId::new(&SystemEnv::default()), "test");
        let new =
            NewPerson { email: "ada@example.com".parse().unwrap(), role: Role::Admin, display_name: None };
        let ada = create_person(&ctx, &mut MemoryPeople::default(), new).await.unwrap();
        for _ in 0..25 {
            mail.notify("ten_1", std::slice::from_ref(&ada), &Message::factors_reset()).await;
        }
        assert_eq!(tried.load(Ordering::SeqCst), 20);
        mail.notify("ten_2", &[ada], &Message::factors_reset()).await;
        assert_eq!(tried.load(Ordering::SeqCst), 21);
    }
}
