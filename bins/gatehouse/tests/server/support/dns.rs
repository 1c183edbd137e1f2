//! A DNS server on this machine with configurable TXT records.

use std::{
    collections::BTreeMap,
    net::{SocketAddr, UdpSocket},
    sync::{Arc, Mutex},
};

/// The response for a name.
#[derive(Clone)]
enum Records {
    Texts(Vec<String>),
    Failure,
}

/// The server. Names without configured records do not exist.
#[derive(Clone)]
pub(crate) struct DnsServer {
    pub(crate) address: SocketAddr,
    records: Arc<Mutex<BTreeMap<String, Records>>>,
}

impl DnsServer {
    pub(crate) fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let server = Self { address: socket.local_addr().unwrap(), records: Arc::default() };
        let shared = server.clone();
        std::thread::spawn(move || {
            let mut packet = [0; 4096];
            while let Ok((length, from)) = socket.recv_from(&mut packet) {
                let answer = shared.answer(&packet[..length]);
                socket.send_to(&answer, from).unwrap();
            }
        });
        server
    }

    /// Sets the TXT records of a name.
    pub(crate) fn set(&self, name: &str, texts: &[&str]) {
        let texts = texts.iter().map(ToString::to_string).collect();
        self.records.lock().unwrap().insert(name.to_owned(), Records::Texts(texts));
    }

    /// Makes lookups of a name fail.
    pub(crate) fn fail(&self, name: &str) {
        self.records.lock().unwrap().insert(name.to_owned(), Records::Failure);
    }

    /// Builds a response (RFC 1035): the question and the records.
    fn answer(&self, question: &[u8]) -> Vec<u8> {
        let (mut labels, mut at) = (Vec::new(), 12);
        while question[at] != 0 {
            let end = at + 1 + usize::from(question[at]);
            labels.push(String::from_utf8_lossy(&question[at + 1..end]).to_lowercase());
            at = end;
        }
        let records = self.records.lock().unwrap().get(&labels.join(".")).cloned();
        let (code, texts) = match records {
            None => (3, Vec::new()),
            Some(Records::Failure) => (2, Vec::new()),
            Some(Records::Texts(texts)) => (0, texts),
        };
        let mut answer = question[..at + 5].to_vec();
        answer[2..4].copy_from_slice(&[0x81, 0x80 | code]);
        answer[6..12].copy_from_slice(&[0, u8::try_from(texts.len()).unwrap(), 0, 0, 0, 0]);
        for text in texts {
            let length = u8::try_from(text.len()).unwrap();
            // Compression pointer to the name, TXT, IN, TTL of an hour.
            answer.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0x0e, 0x10, 0, length + 1, length]);
            answer.extend(text.bytes());
        }
        answer
    }
}
