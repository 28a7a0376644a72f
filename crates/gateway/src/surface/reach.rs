//! A call on a frugal surface as an exam sees it: what the model is told, which tool the call led
//! to, and what that tool answered before the answer was cut.
//!
//! Tools are called in the same way as by `call_api`. Of a batch only the first call is made, and a
//! request to an HTTP provider is not made: an exam is about tools, and does no more than it must
//! to see which one a model chooses.

use kitbag_wire::{Raw, RawObject, raw};
use serde_json::value::RawValue;

use super::answer::{as_meant, fitted, text, with_taken};
use super::batch::Batch;
use super::call::{call, one};
use super::own::arguments;
use super::request::ApiRequest;
use super::tools::AlwaysOn;
use crate::call::bridge;
use crate::call::failure::Failure;
use crate::call::reply;
use crate::call::required;
use crate::turn::Turn;
use kitbag_schema::Taken;

pub struct Answered {
    /// The text that the model reads.
    pub told: Raw,
    /// `None` if the model called no tool and only looked at what there is.
    pub reached: Option<Reached>,
}

pub struct Reached {
    /// The exposed name as the model wrote it; that of our own tool for a request to a provider.
    pub tool: String,
    /// As the server is given them.
    pub arguments: Raw,
    /// The whole of it.
    pub result: Raw,
    /// Calls of a batch after this one.
    pub also: usize,
}

/// The aim of a call, as far as it can be read.
enum Aim {
    Tool(Aimed),
    Provider {
        also: usize,
    },
    /// Searching, browsing, reading on, or something that cannot be read.
    Look,
}

struct Aimed {
    name: String,
    arguments: Raw,
    /// The way in which the arguments of the enclosing call were read.
    taken: Option<Taken>,
    also: usize,
}

pub(crate) async fn answered(turn: &Turn, params: RawObject) -> Result<Answered, Failure> {
    let name = required(&params, "name")?;
    match aim(turn, &name, &params) {
        Aim::Look => Ok(Answered {
            told: call(turn, params).await?,
            reached: None,
        }),
        Aim::Provider { also } => {
            let told = text("Not requested: an exam is about tools.");
            let arguments = given(&params);
            let reached = Reached {
                tool: name,
                arguments,
                result: told.clone(),
                also,
            };
            Ok(Answered {
                told,
                reached: Some(reached),
            })
        }
        Aim::Tool(aimed) => made(turn, aimed, params).await,
    }
}

/// Makes the call in the same way as `call_api`, but cuts the answer last, so that the exam sees
/// the whole answer, too.
async fn made(turn: &Turn, aimed: Aimed, params: RawObject) -> Result<Answered, Failure> {
    let Aimed {
        name,
        arguments,
        taken,
        also,
    } = aimed;
    let mut params = params.with("name", &name);
    params.set("arguments", arguments);
    let read_as = as_meant(turn, &name, &mut params);
    let arguments = given(&params);
    let result = match one(turn, name.clone(), params, usize::MAX).await {
        Err(Failure::Cancelled) => return Err(Failure::Cancelled),
        Err(failure) => reply::tool_result(&failure, turn.client.era),
        Ok(result) => bridge::in_era(turn.client.era, result),
    };
    let told = fitted(turn, result.clone(), turn.gateway.surfaces.result_tokens);
    let told = with_taken(with_taken(told, read_as.as_ref()), taken.as_ref());
    let reached = Some(Reached {
        tool: name,
        arguments,
        result,
        also,
    });
    Ok(Answered { told, reached })
}

fn aim(turn: &Turn, name: &str, params: &RawObject) -> Aim {
    match AlwaysOn::named(name) {
        Some(AlwaysOn::Call) => aim_of_request(turn, params.get("arguments"), 0),
        Some(AlwaysOn::Batch) => {
            let batch = arguments::<Batch>(
                &turn.gateway.services.checker,
                AlwaysOn::Batch,
                params.get("arguments"),
            );
            let calls = batch.map(|(batch, _)| batch.calls).unwrap_or_default();
            let mut aims = (0..).zip(&calls).map(|(number, it)| {
                let after: usize = calls.len() - number - 1;
                aim_of_request(turn, Some(it), after)
            });
            aims.find(|aim| !matches!(aim, Aim::Look))
                .unwrap_or(Aim::Look)
        }
        Some(
            AlwaysOn::Search
            | AlwaysOn::Discover
            | AlwaysOn::EnableGroup
            | AlwaysOn::RunIntent
            | AlwaysOn::RunCode,
        ) => Aim::Look,
        // A model that calls a tool by its name is served on every surface.
        None => Aim::Tool(Aimed {
            name: name.to_owned(),
            arguments: given(params),
            taken: None,
            also: 0,
        }),
    }
}

/// A request that cannot be read counts as a look; the tool that it was meant for explains the
/// mistake.
fn aim_of_request(turn: &Turn, asked: Option<&RawValue>, also: usize) -> Aim {
    let read = arguments(&turn.gateway.services.checker, AlwaysOn::Call, asked);
    let Ok((request, taken)) =
        read.and_then(|(asked, taken)| Ok((ApiRequest::read(asked)?, taken)))
    else {
        return Aim::Look;
    };
    match request {
        ApiRequest::Tool { name, .. }
            if AlwaysOn::named(&name).is_some() && turn.catalog.tool(&name).is_none() =>
        {
            Aim::Look
        }
        ApiRequest::Tool { name, arguments } => Aim::Tool(Aimed {
            name,
            arguments,
            taken,
            also,
        }),
        ApiRequest::Provider { .. } => Aim::Provider { also },
        ApiRequest::Rest { .. } => Aim::Look,
    }
}

fn given(params: &RawObject) -> Raw {
    params
        .get("arguments")
        .map_or_else(|| raw(&RawObject::new()), ToOwned::to_owned)
}
