//! A command at the other end of the socket: it looks for the gateway and asks it.

use std::collections::BTreeMap;
use std::path::Path;

use kitbag_config::{Config, ConfigSource};
use tokio::io::{AsyncBufRead, AsyncWrite, BufReader, ReadHalf, WriteHalf};

use super::Identity;
use super::protocol::{
    Hello, LineError, LocalAnswer, LocalMessage, LocalRequest, VERSION, Want, Welcome, read, write,
};
use super::socket::{self, Stream};
use crate::cli::failure::Relayed;
use kitbag_gateway::admin::app::CallProgress;
use kitbag_gateway::secrets::vault;

/// A connection to the gateway that runs, accepted by it.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(super) reader: BufReader<ReadHalf<Stream>>,
    pub(super) writer: WriteHalf<Stream>,
}

/// The outcome of looking for a gateway to join.
#[derive(Debug)]
pub(crate) enum JoinOutcome {
    Joined(Joined),
    /// A gateway runs, and it cannot be joined.
    Refused {
        reason: String,
    },
    Nothing,
}

/// The gateway went away before it had answered.
#[derive(Debug, thiserror::Error)]
#[error("the gateway gave no answer: {0}")]
pub(crate) struct UnansweredRequest(#[from] LineError);

impl UnansweredRequest {
    pub(crate) const REMEDY: &str = "try again; if no gateway runs by then, servers are started for the command alone, as with --own";
}

impl Joined {
    /// Returns the gateway that serves the same user and configuration, if there is one. The log
    /// tells why a gateway that runs is not joined.
    pub(crate) async fn find(
        at: &ConfigSource,
        config: Option<&Config>,
        want: Want,
    ) -> Option<Self> {
        match find(at, config, want).await {
            JoinOutcome::Joined(joined) => Some(joined),
            JoinOutcome::Refused { reason } => {
                tracing::debug!("working without the gateway that runs: {reason}");
                None
            }
            JoinOutcome::Nothing => None,
        }
    }

    pub(crate) async fn ask(
        &mut self,
        request: &LocalRequest,
        mut progress: impl FnMut(CallProgress),
    ) -> anyhow::Result<LocalAnswer> {
        ask(&mut self.reader, &mut self.writer, request, &mut progress).await
    }
}

/// Looks for the gateway and asks it to accept this program.
pub(crate) async fn find(at: &ConfigSource, config: Option<&Config>, want: Want) -> JoinOutcome {
    let project = config.and_then(|config| config.project.active_path());
    let Ok(identity) = Identity::of(at, project) else {
        return JoinOutcome::Nothing;
    };
    let stream = match socket::connect(&identity).await {
        Ok(Some(stream)) => stream,
        Ok(None) => return JoinOutcome::Nothing,
        Err(error) => {
            return JoinOutcome::Refused {
                reason: error.to_string(),
            };
        }
    };
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let variables = config.map(variables).unwrap_or_default();
    let project = project.map(Path::to_owned);
    let hello = Hello {
        kitbag: VERSION.to_owned(),
        want,
        project,
        variables,
    };
    let greeted = async {
        write(&mut writer, &hello).await?;
        read::<Welcome>(&mut reader).await
    };
    match greeted.await {
        Ok(Welcome::Accepted) => JoinOutcome::Joined(Joined { reader, writer }),
        Ok(Welcome::Refused { reason }) => JoinOutcome::Refused { reason },
        Err(error) => JoinOutcome::Refused {
            reason: error.to_string(),
        },
    }
}

async fn ask(
    reader: &mut (impl AsyncBufRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    request: &LocalRequest,
    progress: &mut impl FnMut(CallProgress),
) -> anyhow::Result<LocalAnswer> {
    write(writer, request).await.map_err(UnansweredRequest)?;
    loop {
        match read(reader).await.map_err(UnansweredRequest)? {
            LocalMessage::Progress(step) => progress(step),
            LocalMessage::Answer(answer) => return Ok(answer),
            LocalMessage::Failed(failure) => return Err(Relayed(failure).into()),
        }
    }
}

/// Returns the variables that the configuration refers to, as far as they are set here.
fn variables(config: &Config) -> BTreeMap<String, String> {
    vault::variables(config)
        .into_iter()
        .filter_map(|name| digest(&name).map(|digest| (name, digest)))
        .collect()
}

/// Returns the text that two ends compare instead of the value of a variable, if it is set here.
pub(super) fn digest(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok()?;
    Some(blake3::hash(value.as_bytes()).to_hex().to_string())
}
