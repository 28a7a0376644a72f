//! Work that may ask the person in the middle, for a client of either era.
//!
//! A legacy client is asked while its request is open. A modern client gets the questions as its
//! result; the work waits beside, and goes on when the client calls again with the answers.

use std::future::Future;

use kitbag_wire::{Era, Raw, RawObject};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::call::bridge::{QUESTION_GAP, input_required_result};
use crate::call::failure::Failure;
use crate::call::parking::{ParkedCall, Ticket, TicketUse};
use crate::turn::Turn;
use crate::turn::run::{RunQuestion, RunningProgram, SuspendedRun};

/// Questions that may wait to be put: more than a person answers.
const MAX_OPEN_QUESTIONS: usize = 32;

/// Does the work, or goes on with it if the request brings answers.
pub(in crate::surface) async fn run_with_questions<F, W>(
    turn: &Turn,
    params: &RawObject,
    work: W,
) -> Result<Raw, Failure>
where
    W: FnOnce(Turn) -> F,
    F: Future<Output = Result<Raw, Failure>> + Send + 'static,
{
    if turn.client.era == Era::Legacy {
        return tokio::select! {
            end = work(turn.clone()) => end,
            () = turn.cancelled.cancelled() => Err(Failure::Cancelled),
        };
    }
    let ticket_use = ticket_use(turn, params);
    let state: Option<String> = params.read("requestState");
    let Some(ticket) = state.as_deref().and_then(Ticket::parse) else {
        return wait_for_work(turn, ticket_use, start_work(turn, work)).await;
    };
    match turn.gateway.services.parking.claim(&ticket, &ticket_use)? {
        ParkedCall::Run(suspended) => {
            let answers = params.object("inputResponses").unwrap_or_default();
            resume_work(turn, ticket_use, suspended, &answers).await
        }
        ParkedCall::Waiting { .. } | ParkedCall::CallAgain => {
            wait_for_work(turn, ticket_use, start_work(turn, work)).await
        }
    }
}

fn start_work<F, W>(turn: &Turn, work: W) -> RunningProgram
where
    W: FnOnce(Turn) -> F,
    F: Future<Output = Result<Raw, Failure>> + Send + 'static,
{
    let (ask, questions) = mpsc::channel(MAX_OPEN_QUESTIONS);
    let mut own = turn.clone();
    own.back = turn.back.of_run(ask);
    // Questions come up in the middle of the work, as they do for legacy clients.
    own.client.era = Era::Legacy;
    let end = AbortOnDropHandle::new(tokio::spawn(work(own)));
    RunningProgram { end, questions }
}

/// Waits for the end of the work or for its first questions.
async fn wait_for_work(
    turn: &Turn,
    ticket_use: TicketUse,
    mut running: RunningProgram,
) -> Result<Raw, Failure> {
    let first = tokio::select! {
        end = &mut running.end => return end.unwrap_or(Err(Failure::Cancelled)),
        Some(first) = running.questions.recv() => first,
        () = turn.cancelled.cancelled() => return Err(Failure::Cancelled),
    };
    let mut asked = vec![first];
    while let Ok(Some(further)) = timeout(QUESTION_GAP, running.questions.recv()).await {
        asked.push(further);
    }
    let numbered = (1..).zip(asked);
    let asked = numbered.map(|(number, question)| (format!("question-{number}"), question));
    let asked = asked.collect();
    Ok(park_work(turn, ticket_use, SuspendedRun { running, asked }))
}

/// Hands the answers over. A question without an answer is put again.
async fn resume_work(
    turn: &Turn,
    ticket_use: TicketUse,
    suspended: SuspendedRun,
    answers: &RawObject,
) -> Result<Raw, Failure> {
    let SuspendedRun { running, asked } = suspended;
    let mut missing = Vec::new();
    for (key, question) in asked {
        match answers
            .get(&key)
            .filter(|answer| answer.get().starts_with('{'))
        {
            Some(answer) => drop(question.answer.send(Ok(answer.to_owned()))),
            None => missing.push((key, question)),
        }
    }
    if missing.is_empty() {
        return wait_for_work(turn, ticket_use, running).await;
    }
    let asked = missing;
    Ok(park_work(turn, ticket_use, SuspendedRun { running, asked }))
}

fn park_work(turn: &Turn, ticket_use: TicketUse, suspended: SuspendedRun) -> Raw {
    let asked = suspended.asked.iter();
    let questions: RawObject = asked
        .map(|(key, question)| (key.clone(), question_to_raw(question)))
        .collect();
    let parking = &turn.gateway.services.parking;
    let ticket = parking.park(ticket_use, ParkedCall::Run(suspended));
    input_required_result(&questions, &ticket)
}

fn question_to_raw(question: &RunQuestion) -> Raw {
    let written = RawObject::new().with("method", &question.method);
    match &question.params {
        Some(params) => written.with("params", params).to_raw(),
        None => written.to_raw(),
    }
}

/// The request without the parts that belong to a single attempt.
fn ticket_use(turn: &Turn, params: &RawObject) -> TicketUse {
    let mut hash = blake3::Hasher::new();
    for member in ["name", "arguments"] {
        let text = params.get(member).map_or("", |value| value.get());
        hash.update(text.as_bytes()).update(b"\0");
    }
    TicketUse {
        caller: turn.caller().clone(),
        digest: *hash.finalize().as_bytes(),
    }
}
