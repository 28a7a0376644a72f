//! The messages on the local socket, one line of JSON each.
//!
//! The program that connects sends a `Hello`, and the gateway replies with a `Welcome`. A client on
//! stdio then speaks MCP. A command sends requests, one at a time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kitbag_domain::Surface;
use kitbag_gateway::admin::app::CallProgress;
use kitbag_wire::lines::{Line, read_line};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt as _};

use crate::cli::failure::CommandFailure;

/// Both ends must have the same version, since the messages may differ between versions.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A list of 100,000 tools has a fifth of this. Both ends belong to the same user.
const MAX_LINE_BYTES: usize = 256 * 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) kitbag: String,
    pub(super) want: Want,
    /// The active project file of the program that connects.
    pub(super) project: Option<PathBuf>,
    /// The variables that the configuration refers to and that are set for the program that
    /// connects, each with a hash of its value.
    pub(super) variables: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Want {
    /// MCP, as on stdin and stdout.
    Stdio { surface: Option<Surface> },
    /// Answers to requests.
    Ask,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Welcome {
    Accepted,
    Refused { reason: String },
}

/// A request, written with its type and read by its method.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RequestLine<M, P> {
    pub(super) method: M,
    pub(super) params: P,
}

/// A message in reply to a request: any number of progress messages, then the answer or a failure.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LocalMessage<A> {
    Progress(CallProgress),
    Answer(A),
    Failed(CommandFailure),
}

/// The reason why no valid message came from the other end.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("the connection was closed")]
    Closed,
    #[error("a line has more than {MAX_LINE_BYTES} bytes")]
    TooLong,
    #[error("invalid message: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

pub(super) async fn read<T: DeserializeOwned>(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> Result<T, LineError> {
    Ok(serde_json::from_slice(&read_next_line(reader).await?)?)
}

/// Returns the next hello, or the reason to reject it. Checks the version first, since the other
/// fields may differ in another version.
pub(super) async fn read_hello(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> Result<Result<Hello, String>, LineError> {
    #[derive(Deserialize)]
    struct HelloVersion {
        kitbag: String,
    }
    let line = read_next_line(reader).await?;
    let HelloVersion { kitbag } = serde_json::from_slice(&line)?;
    if kitbag != VERSION {
        return Ok(Err(format!(
            "the running gateway is Kitbag {VERSION}, this is {kitbag}"
        )));
    }
    Ok(Ok(serde_json::from_slice(&line)?))
}

async fn read_next_line(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Vec<u8>, LineError> {
    let mut line = Vec::new();
    match read_line(reader, &mut line, MAX_LINE_BYTES).await? {
        Line::Whole => Ok(line),
        Line::Truncated => Err(LineError::TooLong),
        Line::End => Err(LineError::Closed),
    }
}

pub(super) async fn write<T: Serialize>(
    writer: &mut (impl AsyncWrite + Unpin),
    message: &T,
) -> Result<(), LineError> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    writer.write_all(&line).await?;
    Ok(writer.flush().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_hello_from(line: &str) -> Result<Result<Hello, String>, LineError> {
        read_hello(&mut line.as_bytes()).await
    }

    #[tokio::test]
    async fn a_hello_of_another_version_is_rejected_whatever_else_it_says() {
        let refused = read_hello_from(r#"{"kitbag":"99.1.0","want":["something","new"]}"#)
            .await
            .unwrap()
            .unwrap_err();
        assert!(
            refused.contains("99.1.0") && refused.contains(VERSION),
            "{refused}"
        );
        let ours =
            format!(r#"{{"kitbag":"{VERSION}","want":"ask","project":null,"variables":{{}}}}"#);
        assert_eq!(
            read_hello_from(&ours).await.unwrap().unwrap().want,
            Want::Ask
        );
        let other =
            format!(r#"{{"kitbag":"{VERSION}","want":"dance","project":null,"variables":{{}}}}"#);
        assert!(matches!(
            read_hello_from(&other).await,
            Err(LineError::Unreadable(_))
        ));
        assert!(matches!(read_hello_from("").await, Err(LineError::Closed)));
    }
}
