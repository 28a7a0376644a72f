//! The command's end of the socket: finds the running gateway and sends requests to it.

use std::collections::BTreeMap;
use std::path::Path;

use kitbag_config::{Config, ConfigSource};
use kitbag_gateway::admin::app::CallProgress;
use kitbag_gateway::secrets::vault;
use tokio::io::{BufReader, ReadHalf, WriteHalf};

use super::Identity;
use super::protocol::{
    Hello, LineError, LocalMessage, RequestLine, VERSION, Want, Welcome, read, write,
};
use super::requests::LocalRequest;
use super::socket::{self, Stream};
use crate::cli::failure::RelayedError;

/// A connection that the running gateway accepted.
#[derive(Debug)]
pub(crate) struct GatewayConnection {
    pub(super) reader: BufReader<ReadHalf<Stream>>,
    pub(super) writer: WriteHalf<Stream>,
}

#[derive(Debug)]
pub(crate) enum JoinOutcome {
    Joined(GatewayConnection),
    /// A gateway is running and cannot be joined.
    Refused {
        reason: String,
    },
    Nothing,
}

#[derive(Debug, thiserror::Error)]
#[error("the gateway did not answer: {0}")]
pub(crate) struct UnansweredRequest(#[from] LineError);

impl UnansweredRequest {
    pub(crate) const REMEDY: &str = "try again; if no gateway is running then, the command starts its own servers, as with --own";
}

impl GatewayConnection {
    /// Joins the running gateway of this user and configuration, if there is one. Logs the reason
    /// if it cannot be joined.
    pub(crate) async fn find(
        at: &ConfigSource,
        config: Option<&Config>,
        want: Want,
    ) -> Option<Self> {
        match join_gateway(at, config, want).await {
            JoinOutcome::Joined(connection) => Some(connection),
            JoinOutcome::Refused { reason } => {
                tracing::debug!("not joining the running gateway: {reason}");
                None
            }
            JoinOutcome::Nothing => None,
        }
    }

    pub(crate) async fn ask<R: LocalRequest>(
        &mut self,
        params: R,
        mut progress: impl FnMut(CallProgress),
    ) -> anyhow::Result<R::Answer> {
        let method = R::METHOD;
        let sent = write(&mut self.writer, &RequestLine { method, params }).await;
        sent.map_err(UnansweredRequest)?;
        loop {
            match read(&mut self.reader).await.map_err(UnansweredRequest)? {
                LocalMessage::Progress(step) => progress(step),
                LocalMessage::Answer(answer) => return Ok(answer),
                LocalMessage::Failed(failure) => return Err(RelayedError(failure).into()),
            }
        }
    }
}

/// Connects to the gateway and asks it to accept this program.
pub(crate) async fn join_gateway(
    at: &ConfigSource,
    config: Option<&Config>,
    want: Want,
) -> JoinOutcome {
    let project = config.and_then(|config| config.project.active_path());
    let Ok(identity) = Identity::new(at, project) else {
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
    let variables = config.map(hash_variables).unwrap_or_default();
    let project = project.map(Path::to_owned);
    let hello = Hello {
        kitbag: VERSION.to_owned(),
        want,
        project,
        variables,
    };
    let handshake = async {
        write(&mut writer, &hello).await?;
        read::<Welcome>(&mut reader).await
    };
    match handshake.await {
        Ok(Welcome::Accepted) => JoinOutcome::Joined(GatewayConnection { reader, writer }),
        Ok(Welcome::Refused { reason }) => JoinOutcome::Refused { reason },
        Err(error) => JoinOutcome::Refused {
            reason: error.to_string(),
        },
    }
}

/// Returns the set variables that the configuration refers to, each with a hash of its value.
fn hash_variables(config: &Config) -> BTreeMap<String, String> {
    vault::referenced_variables(config)
        .into_iter()
        .filter_map(|name| hash_variable(&name).map(|hash| (name, hash)))
        .collect()
}

/// Returns the hash of a variable's value, which both ends compare, if the variable is set.
pub(super) fn hash_variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    Some(blake3::hash(value.as_bytes()).to_hex().to_string())
}
