//! Runs work that may ask the user questions before it ends, for clients of either era.
//!
//! Asks during the request if the client supports it. Otherwise the questions are the result of the
//! request; the work continues in the background, and the client repeats the request with the
//! answers.

use std::future::Future;

use kitbag_wire::{Raw, RawObject};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::call::conversation::{
    Conversation, KeyedQuestions, QUESTION_GAP, deliver_answers, number_questions, question_to_raw,
};
use crate::call::failure::Failure;
use crate::call::parking::{ParkedCall, Ticket};
use crate::turn::run::{RunQuestion, RunningProgram, SuspendedRun};
use crate::turn::{AskStyle, Turn};

/// The most questions waiting to be asked: more than a user answers.
const MAX_OPEN_QUESTIONS: usize = 32;

/// Starts the work, or continues it if the request contains answers.
pub(in crate::surface) async fn run_with_questions<F, W>(
    turn: &Turn,
    params: &RawObject,
    work: W,
) -> Result<Raw, Failure>
where
    W: FnOnce(Turn) -> F,
    F: Future<Output = Result<Raw, Failure>> + Send + 'static,
{
    if turn.ask_style == AskStyle::MidCall {
        return tokio::select! {
            end = work(turn.clone()) => end,
            () = turn.cancelled.cancelled() => Err(Failure::Cancelled),
        };
    }
    let conversation = Conversation::new(turn, &request_hash(params));
    let parked = match Ticket::in_params(params) {
        Some(ticket) => Some(conversation.claim(&ticket)?),
        None => None,
    };
    let Some(ParkedCall::Run(suspended)) = parked else {
        return wait_for_work(turn, conversation, start_work(turn, work)).await;
    };
    let SuspendedRun { running, questions } = suspended;
    let answers = params.get_object("inputResponses").unwrap_or_default();
    let unanswered = deliver_answers(questions, &answers);
    match unanswered.is_empty() {
        true => wait_for_work(turn, conversation, running).await,
        false => Ok(park_work(conversation, running, unanswered)),
    }
}

fn start_work<F, W>(turn: &Turn, work: W) -> RunningProgram
where
    W: FnOnce(Turn) -> F,
    F: Future<Output = Result<Raw, Failure>> + Send + 'static,
{
    let (ask, questions) = mpsc::channel(MAX_OPEN_QUESTIONS);
    let end = AbortOnDropHandle::new(tokio::spawn(work(turn.for_run(ask))));
    RunningProgram { end, questions }
}

/// Waits until the work ends or asks its first questions.
async fn wait_for_work(
    turn: &Turn,
    conversation: Conversation<'_>,
    mut running: RunningProgram,
) -> Result<Raw, Failure> {
    let first = tokio::select! {
        end = &mut running.end => return end.unwrap_or(Err(Failure::Cancelled)),
        Some(first) = running.questions.recv() => first,
        () = turn.cancelled.cancelled() => return Err(Failure::Cancelled),
    };
    let mut questions = vec![first];
    while let Ok(Some(further)) = timeout(QUESTION_GAP, running.questions.recv()).await {
        questions.push(further);
    }
    Ok(park_work(
        conversation,
        running,
        number_questions(questions),
    ))
}

fn park_work(
    conversation: Conversation<'_>,
    running: RunningProgram,
    questions: KeyedQuestions<RunQuestion>,
) -> Raw {
    let requests = questions.iter().map(|(key, question)| {
        let question = question_to_raw(&question.method, question.params.as_ref());
        (key.clone(), question)
    });
    let requests: RawObject = requests.collect();
    let suspended = SuspendedRun { running, questions };
    conversation.park(&requests, ParkedCall::Run(suspended))
}

/// Hashes the parts of the request that its repetitions have in common.
fn request_hash(params: &RawObject) -> blake3::Hasher {
    let mut hash = blake3::Hasher::new();
    for member in ["name", "arguments"] {
        let text = params.get(member).map_or("", |value| value.get());
        hash.update(text.as_bytes()).update(b"\0");
    }
    hash
}
