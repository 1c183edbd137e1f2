//! A small closed-loop load generator: each connection sends a request after it has read the previous response.
//!
//! It reports plain percentiles of the measured latencies, without correction for coordinated omission.

use std::{
    io::ErrorKind,
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    runtime::{Builder, Runtime},
    time::timeout,
};
use xtask::sh::Result;

/// Threads that share the connections. With one thread per connection, waking them would be part of the measurement.
const THREADS: usize = 2;
/// Maximum time of a response; then the run fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the bytes of the request with this number.
pub(crate) type Request<'a> = dyn Fn(u64) -> Vec<u8> + Sync + 'a;

/// Result of sending requests at fixed times, independently of earlier responses.
pub(crate) struct Paced {
    /// Rate and latencies of expected responses.
    pub(crate) admitted: Run,
    /// 503 responses per second.
    pub(crate) refused: f64,
    /// Latencies of the 503 responses.
    pub(crate) refusals: Run,
}

/// Sends `rate` requests per second over `connections` for `time`. A connection with a late response sends its next
/// request as soon as the response has arrived.
pub(crate) fn paced(
    address: SocketAddr,
    connections: usize,
    rate: f64,
    time: Duration,
    request: &Request<'_>,
) -> Result<Paced> {
    let end = Instant::now() + time;
    paced_while(address, connections, rate, &|| Instant::now() < end, request)
}

/// Does the same while `going` returns true.
pub(crate) fn paced_while(
    address: SocketAddr,
    connections: usize,
    rate: f64,
    going: &(dyn Fn() -> bool + Sync),
    request: &Request<'_>,
) -> Result<Paced> {
    let start = Instant::now();
    let interval = Duration::from_secs_f64(connections as f64 / rate);
    let results: Vec<Result<Vec<Timed>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let mine = (thread..connections).step_by(THREADS);
                    // Spread over the interval, so that the connections do not send at once.
                    let begin = |number: usize| start + interval.mul_f64(number as f64 / connections as f64);
                    let all = mine.map(|number| steady(address, begin(number), going, interval, request));
                    runtime()?.block_on(async { futures_util::future::try_join_all(all).await })
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err("a thread panicked".into()))
        };
        threads.into_iter().map(join).collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    let (mut admitted, mut refused) = (Vec::new(), Vec::new());
    for seen in results {
        for one in seen? {
            admitted.extend(one.admitted);
            refused.extend(one.refused);
        }
    }
    let rate = |count: usize| count as f64 / seconds;
    let (good, bad) = (rate(admitted.len()), rate(refused.len()));
    let admitted = Run { rate: good, ..Run::of_latencies(admitted) };
    Ok(Paced { admitted, refused: bad, refusals: Run::of_latencies(refused) })
}

/// Observations of one connection, in seconds.
#[derive(Default)]
struct Timed {
    admitted: Vec<f32>,
    refused: Vec<f32>,
}

async fn steady(
    address: SocketAddr,
    begin: Instant,
    going: &(dyn Fn() -> bool + Sync),
    interval: Duration,
    request: &Request<'_>,
) -> Result<Timed> {
    let failed = |error: std::io::Error| format!("{address}: {error}");
    let mut stream = BufReader::with_capacity(16 * 1024, connect(address).await.map_err(failed)?);
    let (mut seen, mut line, mut due) = (Timed::default(), String::new(), begin);
    while going() {
        tokio::time::sleep_until(due.into()).await;
        let bytes = request(NUMBER.fetch_add(1, Ordering::Relaxed));
        let sent = Instant::now();
        stream.write_all(&bytes).await.map_err(failed)?;
        let Answer { status, body, .. } = answer(&mut stream, &mut line).await.map_err(failed)?;
        match status {
            200 | 201 => seen.admitted.push(sent.elapsed().as_secs_f32()),
            503 => seen.refused.push(sent.elapsed().as_secs_f32()),
            _ => return Err(format!("{status} {}", String::from_utf8_lossy(&body))),
        }
        due = (due + interval).max(sent);
    }
    Ok(seen)
}

/// Result of a run.
pub(crate) struct Run {
    /// Responses per second.
    pub(crate) rate: f64,
    /// Number of responses.
    pub(crate) answers: u64,
    /// Responses with an unexpected status.
    pub(crate) unexpected: u64,
    /// One of these responses.
    pub(crate) example: Option<String>,
    /// Latencies in seconds, ascending.
    latencies: Vec<f32>,
}

impl Run {
    /// Builds a run of which only the latencies in seconds are known.
    pub(crate) fn of_latencies(mut latencies: Vec<f32>) -> Self {
        latencies.sort_by(f32::total_cmp);
        Self { rate: 0.0, answers: latencies.len() as u64, unexpected: 0, example: None, latencies }
    }

    /// Describes the responses with an unexpected status.
    pub(crate) fn refused(&self) -> String {
        let example = self.example.as_deref().unwrap_or_default();
        format!(
            "{} of {} responses had an unexpected status, such as {example}",
            self.unexpected, self.answers
        )
    }

    /// Returns this percentile of the latencies in milliseconds, or NaN if there was no response.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        f64::from(self.latencies.get(at).copied().unwrap_or(f32::NAN)) * 1000.0
    }
}

/// Request numbers, unique within one process, so that requests can build unique names from them.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Sends requests over `connections` for `time`, and counts responses other than `expected`.
pub(crate) fn run(
    address: SocketAddr,
    connections: usize,
    time: Duration,
    expected: u16,
    request: &Request<'_>,
) -> Result<Run> {
    let start = Instant::now();
    let end = start + time;
    let results: Vec<Result<Vec<Seen>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let share = (thread..connections).step_by(THREADS).count();
                scope.spawn(move || {
                    let all = (0..share).map(|_| connection(address, end, expected, request));
                    runtime()?.block_on(async { futures_util::future::try_join_all(all).await })
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into())))
            .collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    let (mut latencies, mut unexpected, mut example) = (Vec::new(), 0, None);
    for seen in results {
        for one in seen? {
            latencies.extend(one.latencies);
            unexpected += one.unexpected;
            example = example.or(one.example);
        }
    }
    latencies.sort_by(f32::total_cmp);
    let answers = latencies.len() as u64;
    Ok(Run { rate: answers as f64 / seconds, answers, unexpected, example, latencies })
}

/// Observations of one connection.
struct Seen {
    latencies: Vec<f32>,
    unexpected: u64,
    example: Option<String>,
}

fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())
}

async fn connection(address: SocketAddr, end: Instant, expected: u16, request: &Request<'_>) -> Result<Seen> {
    let failed = |error: std::io::Error| format!("{address}: {error}");
    let mut stream = BufReader::with_capacity(16 * 1024, connect(address).await.map_err(failed)?);
    let mut seen = Seen { latencies: Vec::with_capacity(100_000), unexpected: 0, example: None };
    let mut line = String::new();
    while Instant::now() < end {
        let bytes = request(NUMBER.fetch_add(1, Ordering::Relaxed));
        let sent = Instant::now();
        stream.write_all(&bytes).await.map_err(failed)?;
        let answer = answer(&mut stream, &mut line).await.map_err(failed)?;
        seen.latencies.push(sent.elapsed().as_secs_f32());
        if answer.status != expected {
            seen.unexpected += 1;
            seen.example = Some(format!("{} {}", answer.status, answer.text()));
        }
    }
    Ok(seen)
}

async fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A response of the server.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The cookies that it sets, as `name=value; …` for the next request.
    pub(crate) cookies: String,
    body: Vec<u8>,
    /// Time from the last byte of the request to the last byte of the response.
    pub(crate) took: Duration,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Reads one response.
async fn answer(stream: &mut BufReader<TcpStream>, line: &mut String) -> std::io::Result<Answer> {
    let sent = Instant::now();
    line.clear();
    let first = timeout(PATIENCE, stream.read_line(line)).await;
    if first.map_err(|_| std::io::Error::from(ErrorKind::TimedOut))?? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let (mut length, mut cookies) = (0, Vec::new());
    loop {
        line.clear();
        stream.read_line(line).await?;
        let header = line.trim_end();
        if header.is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        } else if name.eq_ignore_ascii_case("set-cookie") {
            cookies.push(value.trim().split(';').next().unwrap_or_default().to_owned());
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Answer { status, cookies: cookies.join("; "), body, took: sent.elapsed() })
}

/// Sends one request on a new connection and returns status and body.
pub(crate) fn once(address: SocketAddr, request: &[u8]) -> Result<(u16, String)> {
    let answer = exchange(address, request)?;
    Ok((answer.status, answer.text()))
}

/// Sends one request on a new connection.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> Result<Answer> {
    runtime()?.block_on(ask(address, request)).map_err(|error| format!("{address}: {error}"))
}

/// Sends all requests at once, each on a new connection.
pub(crate) fn at_once(address: SocketAddr, requests: &[Vec<u8>]) -> Result<Vec<Answer>> {
    let all = requests.iter().map(|request| ask(address, request));
    let all = async { futures_util::future::try_join_all(all).await };
    runtime()?.block_on(all).map_err(|error| format!("{address}: {error}"))
}

/// Sends each request once over `connections`. Returns the total time, and the responses in the order of the
/// requests.
pub(crate) fn each(
    address: SocketAddr,
    connections: usize,
    requests: &[Vec<u8>],
) -> Result<(Run, Vec<Answer>)> {
    let start = Instant::now();
    let share = |connection: usize| async move {
        let mut stream = BufReader::with_capacity(16 * 1024, connect(address).await?);
        let (mut answers, mut line) = (Vec::new(), String::new());
        for (number, request) in requests.iter().enumerate().skip(connection).step_by(connections) {
            stream.write_all(request).await?;
            answers.push((number, answer(&mut stream, &mut line).await?));
        }
        Ok::<_, std::io::Error>(answers)
    };
    let all = async { futures_util::future::try_join_all((0..connections).map(share)).await };
    let answers = runtime()?.block_on(all).map_err(|error| format!("{address}: {error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    let mut answers: Vec<_> = answers.into_iter().flatten().collect();
    answers.sort_by_key(|(number, _)| *number);
    let answers: Vec<_> = answers.into_iter().map(|(_, answer)| answer).collect();
    let run = Run::of_latencies(answers.iter().map(|answer| answer.took.as_secs_f32()).collect());
    Ok((Run { rate: answers.len() as f64 / seconds, ..run }, answers))
}

async fn ask(address: SocketAddr, request: &[u8]) -> std::io::Result<Answer> {
    let mut stream = BufReader::new(connect(address).await?);
    stream.write_all(request).await?;
    answer(&mut stream, &mut String::new()).await
}
