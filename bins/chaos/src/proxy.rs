//! A TCP proxy between the server and its database that simulates network faults.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use xtask::sh::Result;

/// How the proxy treats bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// It delays them.
    Late(Duration),
    /// It buffers them, and delivers them when the fault ends.
    Buffered,
    /// It drops them. Connections that lost bytes stay silent forever.
    Lost,
}

/// No fault.
pub(crate) const GOOD: Network = Network::Late(Duration::ZERO);

/// A running proxy.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    network: Arc<Shared>,
}

struct Shared {
    network: Mutex<Network>,
    changed: Condvar,
}

impl Proxy {
    /// Forwards connections to this port of this machine.
    pub(crate) fn start(to: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let network = Arc::new(Shared { network: Mutex::new(GOOD), changed: Condvar::new() });
        let shared = Arc::clone(&network);
        // Runs until the process ends.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { continue };
                forward(&client, server, &shared);
            }
        });
        Ok(Self { address, network })
    }

    /// Sets the behavior of the network from now on.
    pub(crate) fn set(&self, network: Network) {
        *self.network.network.lock().unwrap_or_else(PoisonError::into_inner) = network;
        self.network.changed.notify_all();
    }
}

impl Shared {
    fn now(&self) -> Network {
        *self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks while bytes are buffered.
    fn pass(&self) {
        let network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(network, |network| *network == Network::Buffered));
    }
}

fn forward(client: &TcpStream, server: TcpStream, shared: &Arc<Shared>) {
    let _at_once = (client.set_nodelay(true), server.set_nodelay(true));
    let (Ok(from_client), Ok(to_client)) = (client.try_clone(), client.try_clone()) else { return };
    let Ok(from_server) = server.try_clone() else { return };
    let (late, due) = channel();
    let network = Arc::clone(shared);
    thread::spawn(move || read(from_client, &late, &network));
    let network = Arc::clone(shared);
    thread::spawn(move || deliver(&due, server, &network));
    thread::spawn(move || copy(from_server, to_client));
}

/// When to deliver bytes, and the bytes.
type Due = (Instant, Vec<u8>);

fn read(mut from: TcpStream, late: &Sender<Due>, network: &Shared) {
    let mut buffer = vec![0; 64 * 1024];
    let mut lost = false;
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let delay = match network.now() {
            Network::Late(delay) => delay,
            Network::Buffered => Duration::ZERO,
            Network::Lost => {
                lost = true;
                continue;
            }
        };
        let bytes = buffer.get(..length).unwrap_or_default().to_vec();
        // Bytes after a loss would be garbage.
        if !lost && late.send((Instant::now() + delay, bytes)).is_err() {
            return;
        }
    }
}

fn deliver(due: &Receiver<Due>, mut to: TcpStream, network: &Shared) {
    while let Ok((at, bytes)) = due.recv() {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        network.pass();
        if to.write_all(&bytes).is_err() {
            return;
        }
    }
    let _closed = to.shutdown(Shutdown::Both);
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ended = std::io::copy(&mut from, &mut to);
    let _closed = to.shutdown(Shutdown::Both);
}
