//! A client that gets questions as the result of its call, and calls again with the answers.

use std::time::Duration;

use kitbag_domain::ServerName;
use kitbag_upstream::{CallError, CallEvent, ClientQuestion, InFlight};
use kitbag_wire::meta::{code, method, result_type};
use kitbag_wire::{ErrorObject, Raw, RawObject};
use tokio::time::{Instant, timeout_at};

use super::{MAX_QUESTIONS, add_origin, forward_event, next_event, refuse_question, send_call};
use crate::call::failure::Failure;
use crate::call::parking::{ParkedCall, Ticket, TicketUse};
use crate::call::resolve::McpTarget;
use crate::turn::Turn;

/// A person is about to be asked, so the wait for further questions goes unnoticed.
pub(crate) const QUESTION_GAP: Duration = Duration::from_millis(50);
/// A server that does not stop talking is not listened to for ever before the person is asked.
const MAX_GATHER_TIME: Duration = Duration::from_secs(1);

/// The error code with which a legacy server says that the person must first open a URL.
const URL_ELICITATION_REQUIRED: i64 = -32042;

pub(super) async fn carry_call(turn: &Turn, target: &mut McpTarget) -> Result<Raw, Failure> {
    let params = &mut target.outbound.params;
    let state: Option<String> = params.read("requestState");
    let Some(ticket) = state.as_deref().and_then(Ticket::parse) else {
        // The state of a modern server, or none: both go on as they are.
        return ParkableCall { turn, target }.begin_call().await;
    };
    let answers = params.object("inputResponses").unwrap_or_default();
    params.remove("inputResponses");
    params.remove("requestState");
    let call = ParkableCall { turn, target };
    match turn
        .gateway
        .services
        .parking
        .claim(&ticket, &call.ticket_use())?
    {
        ParkedCall::Waiting { in_flight, asks } => {
            call.resume_call(in_flight, asks, &answers).await
        }
        ParkedCall::CallAgain => call.begin_call().await,
        // The ticket of a run names another request than this one, so it is refused before.
        ParkedCall::Run(_) => call.begin_call().await,
    }
}

/// A call and everything around it.
struct ParkableCall<'a> {
    turn: &'a Turn,
    target: &'a McpTarget,
}

impl ParkableCall<'_> {
    async fn begin_call(&self) -> Result<Raw, Failure> {
        let (in_flight, first) = send_call(self.target).await?;
        self.follow_call(in_flight, first).await
    }

    /// Follows the call until it ends or wants to know something.
    async fn follow_call(&self, mut in_flight: InFlight, first: CallEvent) -> Result<Raw, Failure> {
        let mut event = first;
        loop {
            match event {
                CallEvent::Done(done) => return self.finish_call(done),
                CallEvent::Ask(ask) if can_answer(self.turn, &ask) => {
                    return match gather_questions(self, &mut in_flight, ask).await {
                        GatherOutcome::Asks(asks) => Ok(self.park_call(in_flight, asks)),
                        GatherOutcome::Done(done) => self.finish_call(done),
                    };
                }
                other => forward_event(self.turn, &self.target.server, other),
            }
            event = next_event(&mut in_flight).await;
        }
    }

    /// Gives the answers to the server that waits for them. What is still missing is asked again.
    async fn resume_call(
        &self,
        mut in_flight: InFlight,
        asks: Vec<(String, ClientQuestion)>,
        answers: &RawObject,
    ) -> Result<Raw, Failure> {
        in_flight.step_in();
        let mut missing = Vec::new();
        for (key, ask) in asks {
            match answers
                .get(&key)
                .filter(|answer| answer.get().starts_with('{'))
            {
                Some(answer) => ask.answer(Ok(answer.to_owned())),
                None => missing.push((key, ask)),
            }
        }
        if !missing.is_empty() {
            return Ok(self.park_call(in_flight, missing));
        }
        let first = next_event(&mut in_flight).await;
        self.follow_call(in_flight, first).await
    }

    fn park_call(&self, mut in_flight: InFlight, asks: Vec<(String, ClientQuestion)>) -> Raw {
        let questions = asks.iter().map(|(key, ask)| {
            let params = add_origin(ask.params.as_ref(), self.target.server.name());
            let question = RawObject::new()
                .with("method", &ask.method)
                .with("params", &params);
            (key.clone(), question.to_raw())
        });
        let questions: RawObject = questions.collect();
        in_flight.step_aside();
        let ticket = self
            .turn
            .gateway
            .services
            .parking
            .park(self.ticket_use(), ParkedCall::Waiting { in_flight, asks });
        input_required_result(&questions, &ticket)
    }

    fn finish_call(&self, done: Result<Raw, CallError>) -> Result<Raw, Failure> {
        match done {
            Ok(result) => Ok(mark_complete(result)),
            Err(CallError::Refused { server, error }) => match url_questions(&error, &server) {
                Some(_) if !self.turn.client.capabilities.can_visit() => {
                    Err(Failure::CannotVisit { server })
                }
                Some(questions) => {
                    let ticket = self
                        .turn
                        .gateway
                        .services
                        .parking
                        .park(self.ticket_use(), ParkedCall::CallAgain);
                    Ok(input_required_result(&questions, &ticket))
                }
                None => Err(CallError::Refused {
                    server,
                    error: to_modern_code(error),
                }
                .into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn ticket_use(&self) -> TicketUse {
        ticket_use(self.turn, self.target)
    }
}

enum GatherOutcome {
    Asks(Vec<(String, ClientQuestion)>),
    /// The server did not wait for the answers.
    Done(Result<Raw, CallError>),
}

/// Collects the questions that the server asks right after the first, so that the client is asked
/// once.
async fn gather_questions(
    call: &ParkableCall<'_>,
    in_flight: &mut InFlight,
    first: ClientQuestion,
) -> GatherOutcome {
    let turn = call.turn;
    let mut asks = vec![first];
    let end = Instant::now() + MAX_GATHER_TIME;
    while let Ok(event) = timeout_at(
        end.min(Instant::now() + QUESTION_GAP),
        next_event(in_flight),
    )
    .await
    {
        match event {
            CallEvent::Ask(ask) if asks.len() >= MAX_QUESTIONS => refuse_question(ask),
            CallEvent::Ask(ask) if can_answer(turn, &ask) => asks.push(ask),
            CallEvent::Done(done) => return GatherOutcome::Done(done),
            other => forward_event(turn, &call.target.server, other),
        }
    }
    let keyed = asks
        .into_iter()
        .enumerate()
        .map(|(number, ask)| (format!("question-{}", number + 1), ask));
    GatherOutcome::Asks(keyed.collect())
}

/// The request as the server saw it, without the parts that belong to a single attempt.
fn ticket_use(turn: &Turn, target: &McpTarget) -> TicketUse {
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
    TicketUse {
        caller: turn.client.caller.clone(),
        digest: *hash.finalize().as_bytes(),
    }
}

pub(crate) fn input_required_result(questions: &RawObject, ticket: &Ticket) -> Raw {
    RawObject::new()
        .with("resultType", result_type::INPUT_REQUIRED)
        .with("inputRequests", questions)
        .with("requestState", &ticket.to_string())
        .to_raw()
}

/// A legacy error that lists URLs to open, as the questions of a modern result.
fn url_questions(error: &ErrorObject, server: &ServerName) -> Option<RawObject> {
    if error.code != URL_ELICITATION_REQUIRED {
        return None;
    }
    let elicitations: Vec<Raw> = RawObject::open(error.data.as_ref()?)
        .ok()?
        .read("elicitations")?;
    let questions = elicitations
        .into_iter()
        .enumerate()
        .map(|(number, params)| {
            let params = add_origin(Some(&params), server);
            let question = RawObject::new()
                .with("method", method::ELICIT)
                .with("params", &params);
            (format!("question-{}", number + 1), question.to_raw())
        });
    Some(questions.collect())
}

/// Codes the modern revision has withdrawn.
fn to_modern_code(mut error: ErrorObject) -> ErrorObject {
    if error.code == code::LEGACY_RESOURCE_NOT_FOUND {
        error.code = code::INVALID_PARAMS;
    }
    error
}

/// Modern clients insist on `resultType`; a legacy server does not know it.
pub(crate) fn mark_complete(result: Raw) -> Raw {
    if RawObject::peek(&result, "resultType").is_some() {
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
