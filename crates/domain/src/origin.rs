//! The known origin of a request, with ids to find it elsewhere.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::ShortText;

/// The ids by which people find a request again: in the access log, in the client's traces, at the
/// proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The gateway's id of the request; all calls of one request share it.
    pub request: Option<ShortText>,
    /// The run of code that made the call, if any; all calls of one run share it.
    pub run: Option<ShortText>,
    /// The peer address of the connection.
    pub address: Option<IpAddr>,
    pub trace: Option<TraceParent>,
}

/// The client's span that a request belongs to, in W3C Trace Context form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    pub flags: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a `traceparent`")]
pub struct TraceParentError;

impl TraceParent {
    /// Returns the id of the trace in 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        to_hex(&self.trace)
    }
}

impl FromStr for TraceParent {
    type Err = TraceParentError;

    /// Parses `00-<trace>-<span>-<flags>`. Later versions may have more fields after these four.
    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        let fields: Vec<&str> = text.trim().split('-').collect();
        let [version, trace, span, flags, more @ ..] = &*fields else {
            return Err(TraceParentError);
        };
        let [version] = parse_hex(version)?;
        let [flags] = parse_hex(flags)?;
        let parent = Self {
            trace: parse_hex(trace)?,
            span: parse_hex(span)?,
            flags,
        };
        let is_empty = parent.trace == [0; 16] || parent.span == [0; 8];
        // The standard forbids version ff, and version 00 has four fields.
        if version == 0xff || (version == 0 && !more.is_empty()) || is_empty {
            Err(TraceParentError)
        } else {
            Ok(parent)
        }
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "00-{}-{}-{:02x}",
            to_hex(&self.trace),
            to_hex(&self.span),
            self.flags
        )
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses exactly this many bytes in lower-case hexadecimal digits.
fn parse_hex<const N: usize>(text: &str) -> Result<[u8; N], TraceParentError> {
    let mut digits = text.bytes();
    if text.len() != 2 * N || !digits.all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(TraceParentError);
    }
    let mut read = [0; N];
    for (at, byte) in read.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| TraceParentError)?;
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_parsed() {
        let parent: TraceParent = GOOD.parse().unwrap();
        assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(parent.flags, 1);
        assert_eq!(parent.to_string(), GOOD);
        let later = format!("01{}-more", &GOOD[2..]);
        assert_eq!(
            later.parse(),
            Ok(parent),
            "a later version may have more fields"
        );
    }

    #[test]
    fn a_malformed_traceparent_is_rejected() {
        for wrong in [
            "",
            "garbage",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
        ] {
            assert_eq!(
                wrong.parse::<TraceParent>(),
                Err(TraceParentError),
                "{wrong}"
            );
        }
    }
}
