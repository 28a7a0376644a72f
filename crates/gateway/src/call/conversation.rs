//! Asks a modern client questions during a request.
//!
//! The request ends with the questions and a ticket as its result. Its work is parked, and
//! continues when the client repeats the request with the ticket and the answers.

use std::time::Duration;

use kitbag_upstream::ClientQuestion;
use kitbag_wire::meta::result_type;
use kitbag_wire::{Raw, RawObject};

use crate::call::failure::Failure;
use crate::call::parking::{ParkedCall, Parking, Ticket, TicketUse};
use crate::turn::Turn;
use crate::turn::run::RunQuestion;

/// Questions that follow each other within this time are asked together; the user does not notice
/// the delay.
pub(crate) const QUESTION_GAP: Duration = Duration::from_millis(50);

/// Questions, each with the key under which the client answers it.
pub(crate) type KeyedQuestions<Q> = Vec<(String, Q)>;

/// A question whose sender waits for the answer.
pub(crate) trait OpenQuestion {
    fn send_answer(self, answer: Raw);
}

impl OpenQuestion for ClientQuestion {
    fn send_answer(self, answer: Raw) {
        self.answer(Ok(answer));
    }
}

impl OpenQuestion for RunQuestion {
    fn send_answer(self, answer: Raw) {
        // The run may have ended.
        let _ = self.answer.send(Ok(answer));
    }
}

/// The exchange with the client about one request, across its repetitions.
pub(crate) struct Conversation<'a> {
    parking: &'a Parking,
    ticket_use: TicketUse,
}

impl<'a> Conversation<'a> {
    /// `request` is the hash of the request without the parts that change with each repetition.
    pub(crate) fn new(turn: &'a Turn, request: &blake3::Hasher) -> Self {
        Self {
            parking: &turn.gateway.services.parking,
            ticket_use: TicketUse {
                caller: turn.caller().clone(),
                digest: *request.finalize().as_bytes(),
            },
        }
    }

    /// Takes the parked work that belongs to the ticket.
    pub(crate) fn claim(&self, ticket: &Ticket) -> Result<ParkedCall, Failure> {
        self.parking.claim(ticket, &self.ticket_use)
    }

    /// Parks the work, and returns the result that asks the questions.
    pub(crate) fn park(self, questions: &RawObject, parked: ParkedCall) -> Raw {
        let ticket = self.parking.park(self.ticket_use, parked);
        RawObject::new()
            .with("resultType", result_type::INPUT_REQUIRED)
            .with("inputRequests", questions)
            .with("requestState", &ticket.to_string())
            .to_raw()
    }
}

/// Assigns each question its key.
pub(crate) fn number_questions<Q>(questions: impl IntoIterator<Item = Q>) -> KeyedQuestions<Q> {
    let numbered = (1..).zip(questions);
    numbered
        .map(|(number, question)| (format!("question-{number}"), question))
        .collect()
}

/// Sends the answers to the waiting senders. Returns the questions without an answer.
pub(crate) fn deliver_answers<Q: OpenQuestion>(
    questions: KeyedQuestions<Q>,
    answers: &RawObject,
) -> KeyedQuestions<Q> {
    let mut unanswered = Vec::new();
    for (key, question) in questions {
        match answers.get(&key).filter(|it| it.get().starts_with('{')) {
            Some(answer) => question.send_answer(answer.to_owned()),
            None => unanswered.push((key, question)),
        }
    }
    unanswered
}

/// Returns a question in its wire format.
pub(crate) fn question_to_raw(method: &str, params: Option<&Raw>) -> Raw {
    let question = RawObject::new().with("method", method);
    match params {
        Some(params) => question.with("params", params).to_raw(),
        None => question.to_raw(),
    }
}
