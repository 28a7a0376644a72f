//! Bridges a call for a client that gets questions as the result, and repeats the call with the
//! answers.

use std::time::Duration;

use kitbag_domain::ServerName;
use kitbag_upstream::{CallError, CallEvent, ClientQuestion, InFlightCall};
use kitbag_wire::meta::{code, method, result_type};
use kitbag_wire::{ErrorObject, Raw, RawObject};
use tokio::time::{Instant, timeout_at};

use super::{
    MAX_QUESTIONS, add_origin, decline_excess_question, forward_event, next_event, send_call,
};
use crate::call::conversation::{
    Conversation, KeyedQuestions, QUESTION_GAP, deliver_answers, number_questions, question_to_raw,
};
use crate::call::failure::Failure;
use crate::call::parking::{ParkedCall, Ticket};
use crate::call::resolve::McpTarget;
use crate::turn::Turn;

/// The client is asked after this time, even if the server continues to send messages.
const MAX_GATHER_TIME: Duration = Duration::from_secs(1);

/// The error code of a legacy server that requires the user to open a URL first.
const URL_ELICITATION_REQUIRED: i64 = -32042;

pub(super) async fn bridge_call(turn: &Turn, target: &mut McpTarget) -> Result<Raw, Failure> {
    let params = &mut target.outbound.params;
    let Some(ticket) = Ticket::in_params(params) else {
        // A modern server's state is forwarded.
        return ParkableCall { turn, target }.begin_call().await;
    };
    let answers = params.get_object("inputResponses").unwrap_or_default();
    params.remove("inputResponses");
    params.remove("requestState");
    let call = ParkableCall { turn, target };
    match call.conversation().claim(&ticket)? {
        ParkedCall::Waiting {
            in_flight,
            questions,
        } => call.resume_call(in_flight, questions, &answers).await,
        ParkedCall::CallAgain => call.begin_call().await,
        // A run's ticket belongs to another request, so `claim` rejects it.
        ParkedCall::Run(_) => call.begin_call().await,
    }
}

/// A call that may be parked.
struct ParkableCall<'a> {
    turn: &'a Turn,
    target: &'a McpTarget,
}

impl ParkableCall<'_> {
    async fn begin_call(&self) -> Result<Raw, Failure> {
        let (in_flight, first) = send_call(self.target).await?;
        self.follow_call(in_flight, first).await
    }

    /// Follows the call until it ends or asks a question.
    async fn follow_call(
        &self,
        mut in_flight: InFlightCall,
        first: CallEvent,
    ) -> Result<Raw, Failure> {
        let mut event = first;
        loop {
            match event {
                CallEvent::Done(done) => return self.finish_call(done),
                CallEvent::Ask(ask) if can_answer(self.turn, &ask) => {
                    return match gather_questions(self, &mut in_flight, ask).await {
                        GatherOutcome::Questions(questions) => {
                            Ok(self.park_call(in_flight, questions))
                        }
                        GatherOutcome::Done(done) => self.finish_call(done),
                    };
                }
                other => forward_event(self.turn, &self.target.server, other),
            }
            event = next_event(&mut in_flight).await;
        }
    }

    /// Answers the server. Questions without an answer are asked again.
    async fn resume_call(
        &self,
        mut in_flight: InFlightCall,
        questions: KeyedQuestions<ClientQuestion>,
        answers: &RawObject,
    ) -> Result<Raw, Failure> {
        in_flight.mark_client_returned();
        let unanswered = deliver_answers(questions, answers);
        if !unanswered.is_empty() {
            return Ok(self.park_call(in_flight, unanswered));
        }
        let first = next_event(&mut in_flight).await;
        self.follow_call(in_flight, first).await
    }

    fn park_call(
        &self,
        mut in_flight: InFlightCall,
        questions: KeyedQuestions<ClientQuestion>,
    ) -> Raw {
        let requests = questions.iter().map(|(key, question)| {
            let params = add_origin(question.params.as_ref(), self.target.server.name());
            (
                key.clone(),
                question_to_raw(&question.method, Some(&params)),
            )
        });
        let requests: RawObject = requests.collect();
        in_flight.release_slot();
        let parked = ParkedCall::Waiting {
            in_flight,
            questions,
        };
        self.conversation().park(&requests, parked)
    }

    fn finish_call(&self, done: Result<Raw, CallError>) -> Result<Raw, Failure> {
        match done {
            Ok(result) => Ok(mark_complete(result)),
            Err(CallError::Refused { server, error }) => match url_questions(&error, &server) {
                Some(_) if !self.turn.client.capabilities.can_open_url() => {
                    Err(Failure::CannotOpenUrl { server })
                }
                Some(questions) => Ok(self.conversation().park(&questions, ParkedCall::CallAgain)),
                None => Err(CallError::Refused {
                    server,
                    error: to_modern_code(error),
                }
                .into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn conversation(&self) -> Conversation<'_> {
        Conversation::new(self.turn, &request_hash(self.target))
    }
}

enum GatherOutcome {
    Questions(KeyedQuestions<ClientQuestion>),
    /// The server did not wait for answers.
    Done(Result<Raw, CallError>),
}

/// Collects the questions that the server asks right after the first, so that the client is asked
/// once.
async fn gather_questions(
    call: &ParkableCall<'_>,
    in_flight: &mut InFlightCall,
    first: ClientQuestion,
) -> GatherOutcome {
    let turn = call.turn;
    let mut questions = vec![first];
    let end = Instant::now() + MAX_GATHER_TIME;
    while let Ok(event) = timeout_at(
        end.min(Instant::now() + QUESTION_GAP),
        next_event(in_flight),
    )
    .await
    {
        match event {
            CallEvent::Ask(ask) if questions.len() >= MAX_QUESTIONS => decline_excess_question(ask),
            CallEvent::Ask(ask) if can_answer(turn, &ask) => questions.push(ask),
            CallEvent::Done(done) => return GatherOutcome::Done(done),
            other => forward_event(turn, &call.target.server, other),
        }
    }
    GatherOutcome::Questions(number_questions(questions))
}

/// Hashes the request to the server without the parts that change with each repetition.
fn request_hash(target: &McpTarget) -> blake3::Hasher {
    let outbound = &target.outbound;
    let mut hash = blake3::Hasher::new();
    hash.update(target.server.name().as_str().as_bytes())
        .update(b"\0")
        .update(outbound.method.as_bytes());
    for (name, value) in outbound.params.iter().filter(|(name, _)| *name != "_meta") {
        hash.update(b"\0")
            .update(name.as_bytes())
            .update(b"\0")
            .update(value.get().as_bytes());
    }
    hash
}

/// Converts a legacy error with URLs to open into the questions of a modern result.
fn url_questions(error: &ErrorObject, server: &ServerName) -> Option<RawObject> {
    if error.code != URL_ELICITATION_REQUIRED {
        return None;
    }
    let elicitations: Vec<Raw> = RawObject::open(error.data.as_ref()?)
        .ok()?
        .read("elicitations")?;
    let questions = elicitations.into_iter().map(|params| {
        let params = add_origin(Some(&params), server);
        question_to_raw(method::ELICIT, Some(&params))
    });
    Some(number_questions(questions).into_iter().collect())
}

/// Replaces codes that the modern revision has withdrawn.
fn to_modern_code(mut error: ErrorObject) -> ErrorObject {
    if error.code == code::LEGACY_RESOURCE_NOT_FOUND {
        error.code = code::INVALID_PARAMS;
    }
    error
}

/// Adds the `resultType` that modern clients require, if the server did not send one.
pub(crate) fn mark_complete(result: Raw) -> Raw {
    if RawObject::peek_member(&result, "resultType").is_some() {
        return result;
    }
    match RawObject::open(&result) {
        Ok(object) => object.with("resultType", result_type::COMPLETE).to_raw(),
        Err(_) => result,
    }
}

fn can_answer(turn: &Turn, ask: &ClientQuestion) -> bool {
    turn.client
        .capabilities
        .can_answer(&ask.method, ask.params.as_ref())
}
