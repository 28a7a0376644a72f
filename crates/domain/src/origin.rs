//! Where a request came from, as far as that is known, and how it can be found again elsewhere.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::ShortText;

/// What a record needs, beside the caller, to find a request again: in the access log, in the
/// traces of the client, at the proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// Given out by the gateway; all calls of one request have the same.
    pub request: Option<ShortText>,
    /// Of whoever holds the other end of the connection.
    pub address: Option<IpAddr>,
    pub trace: Option<TraceParent>,
}

/// The span of the client that a request belongs to, as W3C Trace Context writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    pub flags: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no `traceparent`")]
pub struct NoTraceParent;

impl TraceParent {
    /// The id of the trace in 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        hex(&self.trace)
    }
}

impl FromStr for TraceParent {
    type Err = NoTraceParent;

    /// `00-<trace>-<span>-<flags>`. Later versions may have more fields behind these four.
    fn from_str(text: &str) -> Result<Self, NoTraceParent> {
        let mut fields = text.trim().split('-');
        let mut next = || fields.next().ok_or(NoTraceParent);
        let [version] = bytes::<1>(next()?)?;
        let parent = Self {
            trace: bytes(next()?)?,
            span: bytes(next()?)?,
            flags: bytes::<1>(next()?)?[0],
        };
        let more = fields.next().is_some();
        let empty = parent.trace == [0; 16] || parent.span == [0; 8];
        if version == 0xff || (version == 0 && more) || empty {
            Err(NoTraceParent)
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
            hex(&self.trace),
            hex(&self.span),
            self.flags
        )
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Exactly this many bytes in lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Result<[u8; N], NoTraceParent> {
    let digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if text.len() != 2 * N || !text.bytes().all(digit) {
        return Err(NoTraceParent);
    }
    let mut read = [0; N];
    for (at, byte) in read.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| NoTraceParent)?;
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_to_the_letter() {
        let parent: TraceParent = GOOD.parse().unwrap();
        assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(parent.flags, 1);
        assert_eq!(parent.to_string(), GOOD);
        let later = format!("01{}-more", &GOOD[2..]);
        assert_eq!(later.parse(), Ok(parent), "a later version may say more");
    }

    #[test]
    fn whatever_is_not_quite_a_traceparent_is_none() {
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
            assert_eq!(wrong.parse::<TraceParent>(), Err(NoTraceParent), "{wrong}");
        }
    }
}
