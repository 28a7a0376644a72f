//! Bridges a call for a client that can be asked in mid-call.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kitbag_upstream::{CallError, CallEvent, ClientQuestion, InFlightCall};
use kitbag_wire::meta::method;
use kitbag_wire::{Raw, RawObject, is_too_deep};

use super::{
    MAX_QUESTIONS, decline_excess_question, forward_event, input_requests, next_event,
    prepare_question, send_call,
};
use crate::call::failure::Failure;
use crate::call::resolve::McpTarget;
use crate::state::random_ids::random_token;
use crate::turn::{BackChannel, Turn};

/// The number of times that a modern server may end the same call with questions.
const MAX_ROUNDS: usize = 10;

pub(super) async fn bridge_call(turn: &Turn, target: &mut McpTarget) -> Result<Raw, Failure> {
    for _ in 0..MAX_ROUNDS {
        let (in_flight, first) = send_call(target).await?;
        let result = follow_call(turn, target, in_flight, first).await?;
        let Some(questions) = input_requests(&result) else {
            return Ok(result);
        };
        if is_too_deep(result.get().as_bytes()) {
            return Err(CallError::TooDeep {
                server: target.server.name().clone(),
            }
            .into());
        }
        let answers = ask_questions(turn, target, &questions).await?;
        target.outbound.params.put("inputResponses", &answers);
        match questions.get("requestState") {
            Some(state) => target.outbound.params.set("requestState", state.to_owned()),
            None => drop(target.outbound.params.remove("requestState")),
        }
    }
    Err(Failure::TooManyRounds {
        server: target.server.name().clone(),
        rounds: MAX_ROUNDS,
    })
}

/// Follows the call to its end, and passes its questions to the client.
async fn follow_call(
    turn: &Turn,
    target: &McpTarget,
    mut in_flight: InFlightCall,
    first: CallEvent,
) -> Result<Raw, Failure> {
    let mut questions = FuturesUnordered::new();
    let mut event = first;
    loop {
        match event {
            CallEvent::Done(done) => {
                // A server on a pipe does not say to which of a client's calls a question belongs.
                // The open questions belong to another call, which waits for their answers.
                tokio::spawn(questions.for_each(async |()| ()));
                return Ok(done?);
            }
            CallEvent::Ask(ask) if questions.len() >= MAX_QUESTIONS => decline_excess_question(ask),
            CallEvent::Ask(ask)
                if turn
                    .client
                    .capabilities
                    .can_answer(&ask.method, ask.params.as_ref()) =>
            {
                let params =
                    prepare_question(turn, &target.server, &ask.method, ask.params.as_ref());
                questions.push(put_question(turn.back.clone(), params, ask));
            }
            other => forward_event(turn, &target.server, other),
        }
        event = loop {
            tokio::select! {
                event = next_event(&mut in_flight) => break event,
                Some(()) = questions.next() => {}
            }
        };
    }
}

async fn put_question(back: BackChannel, params: Raw, ask: ClientQuestion) {
    let withdrawn = ask.withdrawn.clone();
    tokio::select! {
        answer = back.ask(&ask.method, Some(params)) => ask.answer(answer),
        () = withdrawn.cancelled() => {}
    }
}

/// Asks all questions of a modern server at once, and returns the answers by key.
async fn ask_questions(
    turn: &Turn,
    target: &McpTarget,
    questions: &RawObject,
) -> Result<RawObject, Failure> {
    let questions = questions.get_object("inputRequests").unwrap_or_default();
    let pending = questions.iter().map(|(key, question)| async move {
        let question = RawObject::open(question).map_err(|error| {
            Failure::bad_params(format!("the server's question is malformed: {error}"))
        })?;
        let method: String = question.read("method").unwrap_or_default();
        let params = question.get("params").map(ToOwned::to_owned);
        let params = prepare_question(turn, &target.server, &method, params.as_ref());
        let params = with_elicitation_id(&method, params);
        let answer = turn
            .back
            .clone()
            .ask(&method, Some(params))
            .await
            .map_err(|error| Failure::ClientRefused { error })?;
        Ok::<_, Failure>((key.to_owned(), answer))
    });
    let answers = futures::future::try_join_all(pending).await?;
    Ok(answers.into_iter().collect())
}

/// Adds the id that the legacy revision requires of URL elicitations. The modern revision has none.
fn with_elicitation_id(method: &str, params: Raw) -> Raw {
    if method != method::ELICIT {
        return params;
    }
    let Ok(mut object) = RawObject::open(&params) else {
        return params;
    };
    if object.read::<String>("mode").as_deref() != Some("url") || object.contains("elicitationId") {
        return params;
    }
    object.put("elicitationId", &random_token());
    object.to_raw()
}
