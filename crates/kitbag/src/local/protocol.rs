//! The messages on the local socket: a line of JSON each.
//!
//! The first line says which program connects and for what, the second if the gateway accepts that.
//! A client on stdio then speaks MCP; a command asks, and is answered one question at a time.

use kitbag_domain::Surface;
use std::collections::BTreeMap;
use std::path::PathBuf;

use kitbag_domain::ServerName;
use kitbag_relevance::Options;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt as _};

use kitbag_wire::lines::{Line, read_line};

use crate::cli::failure::CommandFailure;
use kitbag_gateway::admin::app::{
    CallProgress, ServerDefinitions, ServerReport, SilentServer, Status,
};
use kitbag_gateway::admin::offers::{PromptRow, ResourceRow, SkillRow, ToolRow};
use kitbag_gateway::admin::search::SearchResult;
use kitbag_gateway::front::heard::ToolsForWords;
use kitbag_gateway::surface::tokens::SurfaceTokens;

/// Both ends must be of the same version: one end could misread the messages of the other.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The longest line either end reads from the other, which is of the same user: a list of a
/// hundred thousand tools has a fifth of it.
const LONGEST_LINE: usize = 256 * 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) kitbag: String,
    pub(super) want: Want,
    /// The project's file that is in force for the program that connects.
    pub(super) project: Option<PathBuf>,
    /// Variables that the configuration refers to and that are set for the program that connects,
    /// each with a hash of its value.
    pub(super) variables: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Want {
    /// The program wants to speak MCP from here on, as on stdin and stdout.
    Stdio { surface: Option<Surface> },
    /// The program wants to have requests answered.
    Ask,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Welcome {
    Accepted,
    Refused { reason: String },
}

/// A request that a command can make to a gateway.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LocalRequest {
    /// Asks this server what it offers, or all that have not been asked yet.
    Know {
        server: Option<ServerName>,
    },
    Tools,
    /// Asks for the definition of a tool that clients get.
    Definition {
        name: String,
    },
    /// Asks these servers anew for their tools and prompts, to the letter.
    Definitions {
        servers: Vec<ServerName>,
    },
    Prompts,
    /// Asks for what a prompt says with these arguments.
    Prompt {
        name: String,
        arguments: BTreeMap<String, String>,
    },
    Skills,
    Resources,
    /// Asks for the contents of a resource.
    Read {
        uri: String,
    },
    Search {
        intent: String,
        options: Options,
    },
    Tokens {
        surface: Surface,
    },
    Call {
        name: String,
        arguments: Map<String, Value>,
    },
    /// Calls one of the always-on tools.
    OnSurface {
        tool: String,
        arguments: Map<String, Value>,
    },
    Restart {
        server: ServerName,
    },
    /// Hands over what the person said to an agent.
    Hear {
        words: String,
    },
    Status,
    /// Asks for what the meter has counted.
    Figures,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LocalAnswer {
    /// The servers that gave no answer.
    Silent(Vec<SilentServer>),
    Tools(Vec<ToolRow>),
    Definition(Option<Value>),
    Definitions(Vec<ServerDefinitions>),
    Prompts(Vec<PromptRow>),
    Resources(Vec<ResourceRow>),
    Skills(Vec<SkillRow>),
    Found(SearchResult),
    Tokens(SurfaceTokens),
    Result(Value),
    Restarted(ServerReport),
    Heard(ToolsForWords),
    Status(Status),
}

/// The messages that come back for a request: any number of steps, then its end.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LocalMessage {
    Progress(CallProgress),
    Answer(LocalAnswer),
    Failed(CommandFailure),
}

/// The reason for which nothing, or nothing that can be understood, came from the other end.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("it went away")]
    Gone,
    #[error("a line has more than {LONGEST_LINE} bytes")]
    TooLong,
    #[error("what it says cannot be understood: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

pub(super) async fn read<T: DeserializeOwned>(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> Result<T, LineError> {
    Ok(serde_json::from_slice(&next_line(reader).await?)?)
}

/// Returns the next hello, or the reason to refuse it. The version is read first: a hello of
/// another version may look different in everything else.
pub(super) async fn read_hello(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> Result<Result<Hello, String>, LineError> {
    #[derive(Deserialize)]
    struct Greeting {
        kitbag: String,
    }
    let line = next_line(reader).await?;
    let Greeting { kitbag } = serde_json::from_slice(&line)?;
    if kitbag != VERSION {
        return Ok(Err(format!(
            "the gateway that runs is Kitbag {VERSION}, and this is {kitbag}"
        )));
    }
    Ok(Ok(serde_json::from_slice(&line)?))
}

async fn next_line(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Vec<u8>, LineError> {
    let mut line = Vec::new();
    match read_line(reader, &mut line, LONGEST_LINE).await? {
        Line::Whole => Ok(line),
        Line::Cut => Err(LineError::TooLong),
        Line::End => Err(LineError::Gone),
    }
}

pub(super) async fn write<T: Serialize>(
    writer: &mut (impl AsyncWrite + Unpin),
    said: &T,
) -> Result<(), LineError> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    writer.write_all(&line).await?;
    Ok(writer.flush().await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn judged(line: &str) -> Result<Result<Hello, String>, LineError> {
        read_hello(&mut line.as_bytes()).await
    }

    #[tokio::test]
    async fn a_hello_of_another_version_is_refused_whatever_else_it_says() {
        let refused = judged(r#"{"kitbag":"99.1.0","want":["something","new"]}"#)
            .await
            .unwrap()
            .unwrap_err();
        assert!(
            refused.contains("99.1.0") && refused.contains(VERSION),
            "{refused}"
        );
        let ours =
            format!(r#"{{"kitbag":"{VERSION}","want":"ask","project":null,"variables":{{}}}}"#);
        assert_eq!(judged(&ours).await.unwrap().unwrap().want, Want::Ask);
        let other =
            format!(r#"{{"kitbag":"{VERSION}","want":"dance","project":null,"variables":{{}}}}"#);
        assert!(matches!(
            judged(&other).await,
            Err(LineError::Unreadable(_))
        ));
        assert!(matches!(judged("").await, Err(LineError::Gone)));
    }
}
