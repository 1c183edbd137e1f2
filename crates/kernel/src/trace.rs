//! The position of an operation in a distributed trace (W3C Trace Context).

use data_encoding::HEXLOWER;

use crate::Env;

/// The trace that an operation belongs to, and the operation's span.
///
/// ```
/// # use kernel::{SystemEnv, TraceContext};
/// let arrived = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let trace = TraceContext::continued(arrived, None, &SystemEnv::default()).unwrap();
/// assert_eq!(trace.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
/// // The outgoing header names our span, not the caller's.
/// assert!(trace.traceparent().ends_with("-01") && !trace.traceparent().contains("00f067aa0ba902b7"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    trace: [u8; 16],
    span: [u8; 8],
    parent: Option<[u8; 8]>,
    flags: u8,
    state: Option<String>,
}

/// Maximum length of `tracestate` that is propagated: the minimum that the recommendation requires.
const STATE: usize = 512;
/// The `sampled` flag: the caller records this trace.
const SAMPLED: u8 = 1;

impl TraceContext {
    /// Starts a new trace. `sampled` requests that the services called record it.
    pub fn begun(env: &dyn Env, sampled: bool) -> Self {
        let mut random = [0; 24];
        env.fill(&mut random);
        let [trace, span] = [&random[..16], &random[16..]];
        Self {
            trace: trace.try_into().unwrap_or([1; 16]),
            span: span.try_into().unwrap_or([1; 8]),
            parent: None,
            flags: u8::from(sampled),
            state: None,
        }
    }

    /// Continues the trace of a `traceparent` header (§3.2). Returns `None` if it is malformed; then start a new
    /// trace. Propagates `tracestate` (§3.3) unchanged if it is valid.
    pub fn continued(traceparent: &str, tracestate: Option<&str>, env: &dyn Env) -> Option<Self> {
        let mut parts = traceparent.trim().split('-');
        let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let (version, flags) = (bytes::<1>(version)?, bytes::<1>(flags)?);
        // Only versions after 00 may have further fields, and ff is not a version.
        if version == [0xff] || (version == [0] && parts.next().is_some()) {
            return None;
        }
        let (trace, parent) = (bytes::<16>(trace)?, bytes::<8>(parent)?);
        if trace == [0; 16] || parent == [0; 8] {
            return None;
        }
        let mut span = [0; 8];
        env.fill(&mut span);
        let printable = |state: &&str| {
            !state.is_empty()
                && state.len() <= STATE
                && state.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        };
        let state = tracestate.filter(printable).map(str::to_owned);
        Some(Self { trace, span, parent: Some(parent), flags: flags[0] & SAMPLED, state })
    }

    /// Returns the trace id in 32 lower-case hexadecimal digits.
    pub fn trace_id(&self) -> String {
        HEXLOWER.encode(&self.trace)
    }

    /// Returns the span id of this operation in 16 lower-case hexadecimal digits.
    pub fn span_id(&self) -> String {
        HEXLOWER.encode(&self.span)
    }

    /// Returns the ids of the trace, the span and its parent as bytes, for exporters.
    pub fn ids(&self) -> ([u8; 16], [u8; 8], Option<[u8; 8]>) {
        (self.trace, self.span, self.parent)
    }

    /// Whether the `sampled` flag is set.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// Returns the `traceparent` of outgoing requests. `traceresponse` has the same form.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", self.trace_id(), self.span_id(), self.flags)
    }

    /// Returns the `tracestate` of outgoing requests, if there is one to propagate.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemEnv;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn read(text: &str) -> Option<TraceContext> {
        TraceContext::continued(text, None, &SystemEnv::default())
    }

    #[test]
    fn valid_traceparent_is_continued() {
        let trace = read(&format!("00-{TRACE}-00f067aa0ba902b7-01")).unwrap();
        assert_eq!(trace.traceparent(), format!("00-{TRACE}-{}-01", trace.span_id()));
        assert!(trace.is_sampled());
        let later = read(&format!("cc-{TRACE}-00f067aa0ba902b7-0a-what-comes")).unwrap();
        assert_eq!((later.trace_id().as_str(), later.is_sampled()), (TRACE, false));
    }

    #[test]
    fn malformed_traceparent_is_ignored() {
        for text in [
            "",
            "x",
            TRACE,
            &format!("00-{TRACE}-00f067aa0ba902b7"),
            &format!("00-{TRACE}-00f067aa0ba902b7-01-more"),
            &format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            &format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            &format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            &format!("00-{TRACE}-0000000000000000-01"),
            &format!("00-{TRACE}-é0f067aa0ba902b-01"),
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn only_valid_tracestate_is_propagated() {
        let env = SystemEnv::default();
        let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let state =
            |text: &str| TraceContext::continued(&parent, Some(text), &env).unwrap().tracestate().is_some();
        assert!(state("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"));
        assert!(!state("") && !state("a=\r\nX: y") && !state(&"a".repeat(513)));
    }

    #[test]
    fn new_traces_differ() {
        let env = SystemEnv::default();
        let [one, other] = [TraceContext::begun(&env, false), TraceContext::begun(&env, false)];
        assert_ne!(one.trace_id(), other.trace_id());
        assert!(!one.is_sampled() && read(&one.traceparent()).is_some());
    }
}
