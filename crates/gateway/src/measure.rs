//! The requests of `kitbag eval` to the gateway: calls that do not count as use, and the search
//! surface as its clients see it.

use std::pin::pin;

use kitbag_domain::{Purpose, Surface};
use kitbag_wire::RawObject;
use serde_json::{Map, Value};

use crate::app::{App, Meanwhile};
use crate::call::McpCall;
use crate::failure::Failure;
use crate::surface::reach::{self, Answered};
use crate::turn::Turn;

impl App {
    /// Calls a tool to see the outcome: its server decides what to make of the arguments, and the
    /// call does not count as use.
    pub async fn measure(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> anyhow::Result<Value> {
        let params = RawObject::new()
            .with("name", name)
            .with("arguments", &arguments);
        let (turn, messages) = self.turn("kitbag eval", Surface::All);
        let turn = Turn {
            purpose: Purpose::Measurement,
            ..turn
        };
        let call = McpCall::tool(name.to_owned(), params);
        let result = self
            .run((turn, messages), call, Meanwhile::to_its_end(&mut |_| {}))
            .await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// Makes a call of a model as a client of the search surface would, and tells which tool the
    /// call led to. The call does not count as use.
    pub async fn measure_search(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Answered, Failure> {
        let params = RawObject::new()
            .with("name", name)
            .with("arguments", &arguments);
        let (turn, mut messages) = self.turn("kitbag eval", Surface::Search);
        let turn = Turn {
            purpose: Purpose::Measurement,
            ..turn
        };
        let mut answering = pin!(reach::answered(&turn, params));
        loop {
            tokio::select! {
                biased;
                // No client here reads the messages that a server sends meanwhile.
                Some(_) = messages.recv() => {}
                answered = &mut answering => return answered,
            }
        }
    }

    /// Makes the tools that are known searchable in this process alone.
    pub async fn index_in_part(&self) -> anyhow::Result<()> {
        let gateway = self.host().gateway();
        let index = &gateway.services.index;
        index.ready().await?;
        let (catalog, unlisted) = (gateway.catalog(), gateway.unlisted());
        Ok(index
            .build_in_part(&gateway.contents(&catalog, &unlisted))
            .await?)
    }
}
