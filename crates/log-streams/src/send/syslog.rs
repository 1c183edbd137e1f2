//! Syslog over TLS (RFC 5425).

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use super::{SendError, Sender, certificates::tls};
use crate::{Batch, Problem, destination::syslog_address, encode::syslog};

/// Time limit for sending a batch, and then for the receiver to close the connection.
const TIME_LIMIT: Duration = Duration::from_secs(15);

impl Sender<'_> {
    /// Sends a batch over a connection of its own, closes it, and waits until the receiver closes it too: syslog has no
    /// confirmations, and a receiver that has not read everything resets the connection instead.
    pub(super) async fn send_syslog(&self, batch: &Batch) -> Result<(), SendError> {
        let (host, port) = syslog_address(&self.stream.destination.url).ok_or_else(SendError::settings)?;
        let tls = tls(&self.stream.destination, self.secret.as_ref(), self.sending.client.roots())?;
        let mut stream = self.sending.client.connect_tls(host, port, tls).await?;
        let bytes = syslog(batch, &self.sending.host);
        let exchange = async {
            stream.write_all(&bytes).await?;
            stream.shutdown().await?;
            wait_for_end(&mut stream).await
        };
        match timeout(TIME_LIMIT, exchange).await {
            Err(_) => Err(SendError::new(Problem::new("TIMEOUT"))),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a syslog receiver closed the connection");
                let is_tls =
                    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>);
                Err(SendError::new(Problem::new(if is_tls { "TLS" } else { "CLOSED" })))
            }
            Ok(Ok(())) => Ok(()),
        }
    }
}

/// Reads until the receiver closes the connection. Some receivers do so without a message of TLS.
async fn wait_for_end(stream: &mut (impl AsyncReadExt + Unpin)) -> io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
