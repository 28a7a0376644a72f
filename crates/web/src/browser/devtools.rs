//! The connection to a Chromium over its DevTools protocol: JSON, with a zero byte after each
//! message.
//!
//! One task reads and writes. Events that arrive while it waits for an answer change the state of
//! the page.

use std::io;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::Instant;

use super::events::{PageState, Reply};

/// The largest picture as Base64.
const MAX_MESSAGE: u64 = 48 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Devtools {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
    /// The session of the page, once there is one.
    session: Option<String>,
    pub(super) page: PageState,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum DevtoolsError {
    #[error("it ended")]
    Closed,
    #[error("it failed: {0}")]
    Pipe(io::Error),
    #[error("it sent more than {MAX_MESSAGE} bytes at once")]
    TooLarge,
    #[error("it sent an invalid message: {0}")]
    Strange(serde_json::Error),
    #[error("{method}: {reason}")]
    Refused {
        method: &'static str,
        reason: String,
    },
    #[error("its process for the page ended")]
    PageGone,
}

/// Any message from Chromium.
#[derive(Debug, Deserialize)]
struct ChromiumMessage {
    id: Option<u64>,
    #[serde(default)]
    result: Value,
    error: Option<ErrorBody>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
}

#[derive(Debug, Deserialize)]
struct ErrorBody {
    message: String,
}

impl Devtools {
    pub(super) fn new(input: ChildStdin, output: ChildStdout) -> Self {
        Self {
            input,
            output: BufReader::new(output),
            last_id: 0,
            session: None,
            page: PageState::default(),
        }
    }

    /// Addresses all further requests to this page.
    pub(super) fn set_session(&mut self, session: String) {
        self.session = Some(session);
    }

    /// Sends a request and returns its result.
    pub(super) async fn call(
        &mut self,
        method: &'static str,
        params: Value,
    ) -> Result<Value, DevtoolsError> {
        let id = self.send(method, &params).await?;
        loop {
            if let Some(answer) = self.next_answer().await?
                && answer.id == Some(id)
            {
                return match answer.error {
                    Some(ErrorBody { message: reason }) => {
                        Err(DevtoolsError::Refused { method, reason })
                    }
                    None => Ok(answer.result),
                };
            }
        }
    }

    /// Follows the page until it meets the condition; returns false if the time ran out first.
    pub(super) async fn wait_for(
        &mut self,
        until: Instant,
        is_wanted: fn(&PageState) -> bool,
    ) -> Result<bool, DevtoolsError> {
        while !is_wanted(&self.page) {
            match tokio::time::timeout_at(until, self.output.fill_buf()).await {
                Ok(_) => drop(self.next_answer().await?),
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    async fn send(&mut self, method: &str, params: &Value) -> Result<u64, DevtoolsError> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = self.session.as_ref().filter(|_| is_of_page(method)) {
            message["sessionId"] = json!(session);
        }
        let line = format!("{message}\0");
        let sent = self.input.write_all(line.as_bytes()).await;
        sent.map_err(|_| DevtoolsError::Closed)?;
        Ok(self.last_id)
    }

    /// Returns the next message if it is an answer; an event changes the state, and may be replied
    /// to.
    async fn next_answer(&mut self) -> Result<Option<ChromiumMessage>, DevtoolsError> {
        let message = self.receive().await?;
        let Some(method) = &message.method else {
            return Ok(Some(message));
        };
        if let Some(Reply { method, params }) = self.page.handle_event(method, &message.params) {
            self.send(method, &params).await?;
        }
        match self.page.is_gone {
            true => Err(DevtoolsError::PageGone),
            false => Ok(None),
        }
    }

    async fn receive(&mut self) -> Result<ChromiumMessage, DevtoolsError> {
        let mut message = Vec::new();
        let mut output = (&mut self.output).take(MAX_MESSAGE);
        let read = output.read_until(0, &mut message).await;
        read.map_err(DevtoolsError::Pipe)?;
        if message.pop() != Some(0) {
            return Err(match output.limit() {
                0 => DevtoolsError::TooLarge,
                _ => DevtoolsError::Closed,
            });
        }
        serde_json::from_slice(&message).map_err(DevtoolsError::Strange)
    }
}

/// Requests about the browser are made without a session.
fn is_of_page(method: &str) -> bool {
    !method.starts_with("Target.") && !method.starts_with("Browser.")
}
