//! One connection at the gateway's end: a client on stdio, or a command with its questions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kitbag_wire::lines::{Line, read_line};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::answer::answer;
use super::joined::digest;
use super::protocol::{
    Hello, LineError, LocalMessage, LocalRequest, Want, Welcome, read_hello, write,
};
use super::socket::Stream;
use crate::cli::failure::CommandFailure;
use crate::reload::Freshness;
use kitbag_gateway::admin::app::App;
use kitbag_gateway::admin::app::Meanwhile;
use kitbag_gateway::front;
use kitbag_gateway::turn::view::McpEndpoint;

/// The time that the first line may take; both ends are programs on one machine.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);
/// The number of steps of a call that wait to be told; if there are more, the newest are left out.
const STEPS: usize = 64;

/// The things that every connection is served with.
pub(super) struct LocalService {
    pub(super) app: Arc<App>,
    pub(super) fresh: Freshness,
    /// The token is cancelled when the gateway ends.
    pub(super) ended: CancellationToken,
}

/// Serves until the other end closes, or the gateway ends.
pub(super) async fn converse(stream: Stream, service: Arc<LocalService>) -> Result<(), LineError> {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let hello = tokio::time::timeout(HELLO_PATIENCE, read_hello(&mut reader)).await;
    let want = match hello.unwrap_or(Err(LineError::Gone))? {
        Ok(hello) => accepted(hello, &service.fresh).await,
        Err(reason) => Err(reason),
    };
    let want = match want {
        Ok(want) => want,
        Err(reason) => return write(&mut writer, &Welcome::Refused { reason }).await,
    };
    write(&mut writer, &Welcome::Accepted).await?;
    match want {
        Want::Stdio { surface } => {
            let door = surface.map_or(McpEndpoint::Main, McpEndpoint::Surface);
            let host = service.app.host().clone();
            Ok(front::stdio::serve(host, door, &mut reader, writer, &service.ended).await?)
        }
        Want::Ask => questions(&service, &mut reader, &mut writer).await,
    }
}

/// Refuses a caller with another configuration: another project in force, or other values for the
/// variables of the configuration.
async fn accepted(hello: Hello, fresh: &Freshness) -> Result<Want, String> {
    // An edit made just before must hold for this request.
    if fresh.caught_up().await != hello.project {
        return Err("the gateway that runs serves another project".to_owned());
    }
    match differing(&hello.variables).as_slice() {
        [] => Ok(hello.want),
        names => Err(format!(
            "the gateway that runs has other values for {}",
            names.join(", ")
        )),
    }
}

fn differing(theirs: &BTreeMap<String, String>) -> Vec<String> {
    theirs
        .iter()
        .filter(|(name, hash)| digest(name).as_ref() != Some(*hash))
        .map(|(name, _)| name.clone())
        .collect()
}

async fn questions(
    service: &LocalService,
    reader: &mut (impl AsyncBufRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
) -> Result<(), LineError> {
    let mut line = Vec::new();
    loop {
        let max = service.app.host().gateway().serve.max_body_bytes;
        let read = tokio::select! {
            read = read_line(reader, &mut line, max) => read?,
            () = service.ended.cancelled() => return Ok(()),
        };
        let said = match (read, serde_json::from_slice(&line)) {
            (Line::End, _) => return Ok(()),
            (Line::Cut, _) => LocalMessage::Failed(failure(&anyhow::anyhow!(
                "the request has more than {max} bytes"
            ))),
            (Line::Whole, Err(error)) => LocalMessage::Failed(failure(&error.into())),
            (Line::Whole, Ok(request)) => {
                let Some(said) = worked_out(service, request, reader, writer).await? else {
                    return Ok(());
                };
                said
            }
        };
        write(writer, &said).await?;
    }
}

/// Returns the end of a request, with its steps told before; nothing if the other end left
/// meanwhile.
async fn worked_out(
    service: &LocalService,
    request: LocalRequest,
    reader: &mut (impl AsyncBufRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
) -> Result<Option<LocalMessage>, LineError> {
    let cancelled = CancellationToken::new();
    let (steps, mut told) = mpsc::channel(STEPS);
    let meanwhile = Meanwhile {
        progress: &mut move |step| drop(steps.try_send(step)),
        cancelled: cancelled.clone(),
    };
    // On the heap, since an optimised build would otherwise nest the types of everything that can be
    // asked deeper than the compiler follows.
    let mut answering = Box::pin(answer(&service.app, request, meanwhile));
    let mut gone = false;
    loop {
        tokio::select! {
            // A step that came before the end is told before it.
            biased;
            Some(step) = told.recv() => write(writer, &LocalMessage::Progress(step)).await?,
            answered = &mut answering => {
                let said = answered.map_or_else(|error| LocalMessage::Failed(failure(&error)), LocalMessage::Answer);
                return Ok((!gone).then_some(said));
            }
            // The other end says nothing before it has its answer, so anything read here means that
            // it has closed.
            _ = reader.fill_buf(), if !gone => {
                gone = true;
                cancelled.cancel();
            }
        }
    }
}

fn failure(error: &anyhow::Error) -> CommandFailure {
    CommandFailure::of(error)
}
