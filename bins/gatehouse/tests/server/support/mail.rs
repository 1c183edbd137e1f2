//! A mail server that stores what it receives.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
};

/// Accepts mail on loopback for the duration of the test.
pub(crate) struct MailServer {
    pub(crate) address: SocketAddr,
    pub(crate) mail: Receiver<String>,
}

impl MailServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (given, mail) = channel();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let given = given.clone();
                std::thread::spawn(move || {
                    serve_smtp(connection, &mut |message| {
                        let _gone = given.send(message);
                    })
                });
            }
        });
        Self { address, mail }
    }
}

/// Handles one connection (RFC 5321), as far as a client that only sends needs it.
fn serve_smtp(mut connection: TcpStream, given: &mut dyn FnMut(String)) -> Option<()> {
    let mut lines = BufReader::new(connection.try_clone().ok()?).lines();
    connection.write_all(b"220 sink\r\n").ok()?;
    while let Some(Ok(line)) = lines.next() {
        let word = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let answer = match word.as_str() {
            "DATA" => {
                connection.write_all(b"354 go on\r\n").ok()?;
                let message: Vec<_> =
                    lines.by_ref().map_while(Result::ok).take_while(|line| line != ".").collect();
                given(message.join("\n"));
                "250 kept\r\n"
            }
            "QUIT" => "221 bye\r\n",
            _ => "250 fine\r\n",
        };
        connection.write_all(answer.as_bytes()).ok()?;
    }
    Some(())
}
