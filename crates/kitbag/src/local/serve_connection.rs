//! The gateway's end of one connection: serves a client on stdio, or a command's requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kitbag_gateway::admin::app::{App, CallOptions};
use kitbag_gateway::front;
use kitbag_gateway::turn::view::McpEndpoint;
use kitbag_wire::Raw;
use kitbag_wire::lines::{Line, read_line};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::gateway_connection::hash_variable;
use super::protocol::{
    Hello, LineError, LocalMessage, RequestLine, Want, Welcome, read_hello, write,
};
use super::requests::answer_line;
use super::socket::Stream;
use crate::cli::failure::CommandFailure;
use crate::reload::Freshness;

/// The time limit for the first line; both ends are programs on one machine.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of progress messages that may wait to be sent; later ones are dropped.
const PROGRESS_BACKLOG: usize = 64;

/// What every connection shares.
pub(super) struct LocalService {
    pub(super) app: Arc<App>,
    pub(super) fresh: Freshness,
    /// Cancelled when the gateway ends.
    pub(super) ended: CancellationToken,
}

/// Serves until the other end closes the connection or the gateway ends.
pub(super) async fn serve_connection(
    stream: Stream,
    service: Arc<LocalService>,
) -> Result<(), LineError> {
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let hello = tokio::time::timeout(HELLO_TIMEOUT, read_hello(&mut reader)).await;
    let want = match hello.unwrap_or(Err(LineError::Closed))? {
        Ok(hello) => accept_hello(hello, &service.fresh).await,
        Err(reason) => Err(reason),
    };
    let want = match want {
        Ok(want) => want,
        Err(reason) => return write(&mut writer, &Welcome::Refused { reason }).await,
    };
    write(&mut writer, &Welcome::Accepted).await?;
    match want {
        Want::Stdio { surface } => {
            let endpoint = surface.map_or(McpEndpoint::Main, McpEndpoint::Surface);
            let host = service.app.host().clone();
            Ok(front::stdio::serve(host, endpoint, &mut reader, writer, &service.ended).await?)
        }
        Want::Ask => serve_requests(&service, &mut reader, &mut writer).await,
    }
}

/// Refuses a program with another active project or with other values for the variables of the
/// configuration.
async fn accept_hello(hello: Hello, fresh: &Freshness) -> Result<Want, String> {
    // The request must see an edit made just before it.
    if fresh.wait_until_current().await != hello.project {
        return Err("the running gateway serves another project".to_owned());
    }
    let differing: Vec<String> = differing_variables(hello.variables).collect();
    match differing.as_slice() {
        [] => Ok(hello.want),
        names => Err(format!(
            "the running gateway has different values for {}",
            names.join(", ")
        )),
    }
}

fn differing_variables(theirs: BTreeMap<String, String>) -> impl Iterator<Item = String> {
    let differing = |(name, hash): &(String, String)| hash_variable(name).as_ref() != Some(hash);
    theirs.into_iter().filter(differing).map(|(name, _)| name)
}

async fn serve_requests(
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
        let answer = match (read, serde_json::from_slice(&line)) {
            (Line::End, _) => return Ok(()),
            (Line::Truncated, _) => Err(anyhow::anyhow!("the request is larger than {max} bytes")),
            (Line::Whole, Err(error)) => Err(error.into()),
            (Line::Whole, Ok(request)) => {
                match answer_request(service, request, reader, writer).await? {
                    Some(answer) => answer,
                    None => return Ok(()),
                }
            }
        };
        let message = match answer {
            Ok(answer) => LocalMessage::Answer(answer),
            Err(error) => LocalMessage::Failed(CommandFailure::from_error(&error)),
        };
        write(writer, &message).await?;
    }
}

/// Returns the answer to a request after sending its progress; `None` if the other end closed the
/// connection before the answer.
async fn answer_request(
    service: &LocalService,
    request: RequestLine<String, Raw>,
    reader: &mut (impl AsyncBufRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
) -> Result<Option<anyhow::Result<Raw>>, LineError> {
    let cancelled = CancellationToken::new();
    let (sender, mut steps) = mpsc::channel(PROGRESS_BACKLOG);
    let call = CallOptions {
        progress: &mut move |step| drop(sender.try_send(step)),
        cancelled: cancelled.clone(),
    };
    // Boxed, since the types of all requests nested in this future exceed the compiler's recursion
    // limit in an optimized build.
    let mut answering = Box::pin(answer_line(&service.app, request, call));
    let mut closed = false;
    loop {
        tokio::select! {
            // Progress that came before the answer is sent before it.
            biased;
            Some(step) = steps.recv() => write(writer, &LocalMessage::<Raw>::Progress(step)).await?,
            answer = &mut answering => return Ok((!closed).then_some(answer)),
            // The other end sends nothing before it has its answer, so this is the end of the
            // stream.
            _ = reader.fill_buf(), if !closed => {
                closed = true;
                cancelled.cancel();
            }
        }
    }
}
