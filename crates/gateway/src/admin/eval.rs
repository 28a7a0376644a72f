//! The gateway's side of `kitbag eval`: calls that do not count as use, and the search surface as
//! its clients see it.

use std::future::Future;
use std::pin::pin;

use kitbag_domain::{Purpose, Surface};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::admin::app::{App, CallOptions};
use crate::call::failure::Failure;
use crate::call::{McpCall, call_params};
use crate::front::in_flight::OutgoingMessage;
use crate::surface::eval_call::{self, EvalAnswer};
use crate::turn::Turn;

impl App {
    /// Calls a tool for its outcome. The server validates the arguments, and the call does not
    /// count as use.
    pub async fn call_for_eval(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> anyhow::Result<Value> {
        let turn = self.new_eval_turn(Surface::All);
        let call = McpCall::for_tool(name.to_owned(), call_params(name, &arguments));
        let result = self
            .run_call(turn, call, CallOptions::with_progress(&mut |_| {}))
            .await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// Performs a model's call as a client of the search surface would, and returns the tool to
    /// which it led. The call does not count as use.
    pub async fn search_for_eval(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<EvalAnswer, Failure> {
        let (turn, messages) = self.new_eval_turn(Surface::Search);
        let params = call_params(name, &arguments);
        discard_messages(messages, eval_call::call_for_eval(&turn, params)).await
    }

    /// Makes the known tools searchable in this process only.
    pub async fn index_known_tools(&self) -> anyhow::Result<()> {
        let gateway = self.host().gateway();
        let index = &gateway.services.index;
        index.check_embedder().await?;
        let (catalog, unlisted) = (gateway.catalog(), gateway.unlisted_servers());
        Ok(index
            .build_unmirrored(&gateway.index_contents(&catalog, &unlisted))
            .await?)
    }

    pub(crate) fn new_eval_turn(
        &self,
        surface: Surface,
    ) -> (Turn, mpsc::Receiver<OutgoingMessage>) {
        let (turn, messages) = self.new_turn("kitbag eval", surface);
        let turn = Turn {
            purpose: Purpose::Measurement,
            ..turn
        };
        (turn, messages)
    }
}

/// Serves a request, and discards the messages for the client: here no client reads them.
pub(crate) async fn discard_messages<T>(
    mut messages: mpsc::Receiver<OutgoingMessage>,
    serving: impl Future<Output = T>,
) -> T {
    let mut serving = pin!(serving);
    loop {
        tokio::select! {
            biased;
            Some(_) = messages.recv() => {}
            served = &mut serving => return served,
        }
    }
}
