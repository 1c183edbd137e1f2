//! Sockets with many client addresses, using the whole of 127.0.0.0/8.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream},
    time::Duration,
};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

/// Timeout of a response.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the client address with this number; never 127.0.0.1.
pub(super) fn address(number: usize) -> Ipv4Addr {
    let [high, low] = u16::try_from(number).unwrap().to_be_bytes();
    Ipv4Addr::new(127, 1, high, low)
}

/// Connects from this address.
pub(super) fn open(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(from, 0)).unwrap();
    connect(&socket, &to).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Connects from this address and sends `bytes`.
pub(super) fn begin(from: Ipv4Addr, to: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = open(from, to);
    // The server may refuse and close before it has read everything.
    let _refused = stream.write_all(bytes);
    stream
}

/// Sends a request on a new connection and returns everything that the server sends until it closes.
pub(super) fn ask(from: Ipv4Addr, to: SocketAddr, bytes: &[u8]) -> String {
    read_to_end(&mut begin(from, to, bytes))
}

/// Returns everything that the server sends until it closes the connection.
pub(super) fn read_to_end(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_ne!(error.kind(), ErrorKind::WouldBlock, "the connection stays open");
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns whether the server has already closed the connection or responded on it.
pub(super) fn has_ended(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    !matches!(peeked, Err(error) if error.kind() == ErrorKind::WouldBlock)
}
