//! A small load generator: connections that send a request when they have read the answer before.
//!
//! It reports plain percentiles of what it saw: no request is invented to make up for a stall.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use crate::sh::Result;

/// The bytes of the request of this number.
pub(super) type Request<'a> = dyn Fn(u64) -> Vec<u8> + Sync + 'a;

/// What a run saw.
pub(super) struct Run {
    /// Answers a second.
    pub(super) rate: f64,
    /// How many answers there were.
    pub(super) answers: u64,
    /// Answers with another status than expected.
    pub(super) unexpected: u64,
    /// Seconds from request to answer, in ascending order.
    latencies: Vec<f32>,
}

impl Run {
    /// The latency that this share of answers did not exceed, in milliseconds.
    pub(super) fn percentile(&self, share: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        f64::from(self.latencies.get(at).copied().unwrap_or_default()) * 1000.0
    }
}

/// Numbers never repeat within one process, so that requests may make unique names of them.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Sends requests over `connections` for `time`; answers other than `expected` are counted.
pub(super) fn run(
    address: SocketAddr,
    connections: usize,
    time: Duration,
    expected: u16,
    request: &Request<'_>,
) -> Result<Run> {
    let start = Instant::now();
    let results: Vec<Result<(Vec<f32>, u64)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|_| scope.spawn(|| connection(address, start + time, expected, request)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a connection panicked".into())))
            .collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    let (mut latencies, mut unexpected) = (Vec::new(), 0);
    for result in results {
        let (seen, odd) = result?;
        latencies.extend(seen);
        unexpected += odd;
    }
    latencies.sort_by(f32::total_cmp);
    let answers = latencies.len() as u64;
    Ok(Run { rate: answers as f64 / seconds, answers, unexpected, latencies })
}

fn connection(
    address: SocketAddr,
    end: Instant,
    expected: u16,
    request: &Request<'_>,
) -> Result<(Vec<f32>, u64)> {
    let failed = |error: std::io::Error| format!("{address}: {error}");
    let stream = TcpStream::connect(address).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).map_err(failed)?;
    let mut writer = stream.try_clone().map_err(failed)?;
    let mut reader = BufReader::with_capacity(16 * 1024, stream);
    let (mut latencies, mut unexpected) = (Vec::with_capacity(100_000), 0);
    let mut line = String::new();
    while Instant::now() < end {
        let bytes = request(NUMBER.fetch_add(1, Ordering::Relaxed));
        let sent = Instant::now();
        writer.write_all(&bytes).map_err(failed)?;
        let (status, _) = answer(&mut reader, &mut line).map_err(failed)?;
        latencies.push(sent.elapsed().as_secs_f32());
        unexpected += u64::from(status != expected);
    }
    Ok((latencies, unexpected))
}

/// Reads one answer: its status and body.
fn answer(reader: &mut impl BufRead, line: &mut String) -> std::io::Result<(u16, Vec<u8>)> {
    let mut next = |line: &mut String| -> std::io::Result<usize> {
        line.clear();
        reader.read_line(line)
    };
    if next(line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let mut length = 0;
    loop {
        next(line)?;
        let header = line.trim_end();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((status, body))
}

/// One request on a connection of its own: status and body.
pub(super) fn once(address: SocketAddr, request: &[u8]) -> Result<(u16, String)> {
    let failed = |error: std::io::Error| format!("{address}: {error}");
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    stream.write_all(request).map_err(failed)?;
    let (status, body) = answer(&mut BufReader::new(stream), &mut String::new()).map_err(failed)?;
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}
