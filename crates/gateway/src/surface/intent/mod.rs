//! `run_intent`: answers a request with a cached result, a template or a tool, in this order; if
//! none matches, the model gets candidate tools.
//!
//! # Layout
//! - this file: the steps of a request, in the order decided by `kitbag_intents::route`
//! - `template`: a template or a simple tool answers; `direct`: a found tool answers
//! - `candidates`: the tools to choose from
//! - `learn`: turns successful programs into templates
//! - [`trial`]: a template that nobody has approved yet, once

mod candidates;
mod direct;
pub(super) mod learn;
mod template;
pub mod trial;

use std::time::{Duration, Instant};

use kitbag_domain::text::strip_to_one_line;
use kitbag_domain::{Outcome, ServerName};
use kitbag_intents::cache::NewResult;
use kitbag_intents::route::{self, RouteDecision, RouteNext, StepEnd};
use kitbag_intents::{
    CacheKey, CacheMark, CacheSubject, DirectCall, Discovery, RouteCounter, RouteEvent, RouteStep,
    TemplateName,
};
use kitbag_telemetry::operations::{CompletedOperation, OperationEvent, OperationPath};
use kitbag_wire::{Raw, RawObject, raw};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::code::ProgramResult;
use super::code::resumable_work::run_with_questions;
use super::tool_answer::append_text;
use crate::call::failure::Failure;
use crate::call::reply;
use crate::learning::intents::CachedAnswer;
use crate::state::clock::now;
use crate::turn::Turn;
use crate::turn::run::ProgramCall;
use kitbag_domain::sync::lock;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunIntentArguments {
    intent: String,
    #[serde(default)]
    params: Map<String, Value>,
}

/// An intent in progress.
struct IntentRequest {
    turn: Turn,
    intent: String,
    params: Map<String, Value>,
    /// The key of its result in the cache.
    key: CacheKey,
    mark: CacheMark,
    /// The last failure, which is the answer if no further step applies.
    failed: Option<Raw>,
    /// The missing parts of the best-matching template or tool.
    note: Option<String>,
    /// The equivalent call of a failed template.
    instead: Option<DirectCall>,
}

/// The outcome of a step: an answer, a failure, or nothing to try.
enum Attempt {
    Done {
        answer: Raw,
        /// How long the answer may be reused, and its servers; `None` for an answer that did more
        /// than read.
        keep: Option<(Duration, Vec<ServerName>)>,
    },
    Nothing,
    /// A template or tool matches the request, which lacks something for it.
    Incomplete {
        note: String,
    },
    Failed {
        answer: Raw,
        may_have_written: bool,
        /// The call of the program, if it consisted of only one.
        instead: Option<DirectCall>,
    },
}

pub(super) async fn run_intent(
    turn: &Turn,
    arguments: RunIntentArguments,
    params: &RawObject,
) -> Result<Raw, Failure> {
    run_with_questions(turn, params, |turn| async move {
        let started = Instant::now();
        let request_tokens = kitbag_budget::estimate_tokens(&arguments.intent)
            + kitbag_budget::estimate_tokens(&Value::Object(arguments.params.clone()).to_string());
        let mark = lock(&turn.gateway.services.intents.results).mark();
        let subject = CacheSubject::Words(&arguments.intent);
        let key = CacheKey::new(&turn.caller().tenant, subject, &arguments.params);
        let mut request = IntentRequest {
            key,
            turn,
            intent: arguments.intent,
            params: arguments.params,
            mark,
            failed: None,
            note: None,
            instead: None,
        };
        let intents = request.turn.gateway.services.intents.clone();
        let _running = match request.is_cached() {
            true => None,
            false => intents.begin_or_wait(&request.key).await,
        };
        let (step, answer) = Box::pin(request.run_steps()).await;
        request.record_operation(step, started, request_tokens, &answer);
        Ok(answer)
    })
    .await
}

impl IntentRequest {
    /// Takes one step after the other, and returns the last one with its answer.
    async fn run_steps(&mut self) -> (RouteStep, Raw) {
        let flags = self.turn.gateway.code.route;
        let mut step = route::FIRST;
        if let Some(discovery) = Discovery::parse(&self.intent, &self.params) {
            let decision = route::discovery_first(&flags);
            self.intent = discovery.words;
            self.params = discovery.arguments;
            self.record_step(&decision);
            match decision.next {
                RouteNext::Try(first) => step = first,
                _ => return (RouteStep::Candidates, self.unknown_intent()),
            }
        }
        loop {
            let attempt = self.try_step(step).await;
            let next = route::after(&flags, step, attempt.step_end());
            if let Attempt::Incomplete { note } = &attempt {
                self.note.get_or_insert_with(|| note.clone());
            }
            self.record_step(&next);
            match (next.next, attempt) {
                (RouteNext::Try(next), attempt) => {
                    self.carry_over(attempt);
                    step = next;
                }
                (_, Attempt::Done { answer, keep }) => {
                    self.cache_answer(&answer, keep);
                    return (step, answer);
                }
                (_, Attempt::Failed { answer, .. }) => {
                    return (step, self.append_candidates(answer).await);
                }
                (_, Attempt::Nothing | Attempt::Incomplete { .. }) => {
                    return (step, self.unknown_intent());
                }
            }
        }
    }

    /// Stores the result of a step without an answer for the next ones.
    fn carry_over(&mut self, attempt: Attempt) {
        match attempt {
            Attempt::Failed {
                answer, instead, ..
            } => {
                self.failed = Some(answer);
                self.instead = instead;
            }
            Attempt::Done { .. } | Attempt::Nothing | Attempt::Incomplete { .. } => {}
        }
    }

    /// Appends the candidate tools to a failure, so that the model can continue.
    async fn append_candidates(&self, failed: Raw) -> Raw {
        if !self.turn.gateway.code.route.enable_capability_discovery {
            return failed;
        }
        match candidates::list_candidates(self).await {
            Some(tools) => append_text(failed, &tools),
            None => failed,
        }
    }

    async fn try_step(&self, step: RouteStep) -> Attempt {
        match step {
            RouteStep::Cache => self.cached_answer(),
            RouteStep::Template => Box::pin(template::try_template(self)).await,
            RouteStep::Direct => Box::pin(direct::try_direct_call(self)).await,
            RouteStep::Candidates => candidates::offer_candidates(self).await,
        }
    }

    fn is_cached(&self) -> bool {
        let intents = &self.turn.gateway.services.intents;
        lock(&intents.results).get(&self.key, now()).is_some()
    }

    fn cached_answer(&self) -> Attempt {
        let services = &self.turn.gateway.services;
        let cached = lock(&services.intents.results)
            .get(&self.key, now())
            .cloned();
        let Some(CachedAnswer { answer, since }) = cached else {
            services
                .meter
                .record_event(&self.turn.client, OperationEvent::CacheMiss);
            return Attempt::Nothing;
        };
        Attempt::Done {
            answer: add_age(&answer, since.elapsed()),
            keep: None,
        }
    }

    fn cache_answer(&self, answer: &Raw, keep: Option<(Duration, Vec<ServerName>)>) {
        let Some((ttl, servers)) = keep.filter(|(ttl, _)| !ttl.is_zero()) else {
            return;
        };
        let new = NewResult {
            bytes: answer.get().len(),
            value: CachedAnswer {
                answer: answer.clone(),
                since: Instant::now(),
            },
            servers: &servers,
            mark: self.mark,
            ttl,
        };
        lock(&self.turn.gateway.services.intents.results).put(self.key.clone(), new, now());
    }

    /// Counts and logs the outcome of a step.
    fn record_step(&self, next: &RouteDecision) {
        let meter = &self.turn.gateway.services.meter;
        if let Some(counter) = next.counter {
            meter.record_event(&self.turn.client, counter_event(counter));
        }
        let tenant = self.turn.caller().tenant.as_str();
        match next.event {
            Some(RouteEvent::FallingBackToDiscovery) => {
                let intent = self.text_for_log();
                let lacks = self.note.as_deref();
                tracing::info!(tenant, intent, lacks, "falling_back_to_discovery");
            }
            // Logged with the template and the error where the template ran.
            Some(RouteEvent::CodeExecutionFailed) | None => {}
        }
    }

    fn log_template_failure(&self, template: &TemplateName, answer: &Raw) {
        const LONGEST: usize = 300;
        let tenant = self.turn.caller().tenant.as_str();
        let intent = self.text_for_log();
        let error = strip_to_one_line(&answer_text(answer));
        let error = &error[..error.floor_char_boundary(LONGEST)];
        tracing::warn!(tenant, intent, template = %template, error, "code_execution_failed");
    }

    /// Returns the beginning of the request in one line. Parameters are omitted, because they may
    /// contain anything.
    fn text_for_log(&self) -> String {
        const LONGEST: usize = 200;
        let mut text = strip_to_one_line(&self.intent);
        text.truncate(text.floor_char_boundary(LONGEST));
        text
    }

    fn unknown_intent(&self) -> Raw {
        if let Some(failed) = &self.failed {
            return failed.clone();
        }
        let failure = Failure::bad_params(
            "nothing was run, because no known tool does this; rephrase it, or write a program for run_code",
        );
        reply::to_tool_result(&failure, self.turn.client.era)
    }

    fn record_operation(
        &self,
        step: RouteStep,
        started: Instant,
        request_tokens: usize,
        answer: &Raw,
    ) {
        let failed = RawObject::peek_member(answer, "isError").is_some_and(|it| it.get() == "true");
        let ended = CompletedOperation {
            path: operation_path(step),
            outcome: if failed {
                Outcome::ToolError
            } else {
                Outcome::Ok
            },
            latency: started.elapsed(),
            request_tokens,
            answer_tokens: kitbag_budget::estimate_result_tokens(answer.get()),
        };
        let meter = &self.turn.gateway.services.meter;
        meter.record_operation(&self.turn.client, &ended);
    }
}

impl Attempt {
    /// Converts the result of a program, or of the equivalent call. `ttl` is the time for which it
    /// may be reused if the program only read.
    fn from_program(
        ran: ProgramResult,
        ttl: Option<Duration>,
        instead: Option<DirectCall>,
    ) -> Self {
        let (calls, failed) = (ran.run.calls(), ran.has_failed());
        let ProgramResult { answer, run, .. } = ran;
        if failed {
            return Self::Failed {
                answer,
                may_have_written: calls.iter().any(ProgramCall::may_have_written),
                instead,
            };
        }
        let only_read = calls.iter().all(|call| !call.writes);
        let keep = ttl
            .filter(|_| only_read)
            .map(|ttl| (ttl, run.called_servers()));
        Self::Done { answer, keep }
    }

    /// An answer that is not a result: a question to the model.
    fn from_text(text: &str) -> Self {
        let answer = raw(&json!({ "content": [{ "type": "text", "text": text }] }));
        Self::Done { answer, keep: None }
    }

    fn step_end(&self) -> StepEnd {
        match self {
            Self::Done { .. } => StepEnd::Done,
            Self::Nothing | Self::Incomplete { .. } => StepEnd::Nothing,
            Self::Failed {
                may_have_written, ..
            } => StepEnd::Failed {
                may_have_written: *may_have_written,
            },
        }
    }
}

/// Returns the text of an answer.
pub(super) fn answer_text(answer: &Raw) -> String {
    let content: Vec<Raw> = RawObject::open(answer)
        .ok()
        .and_then(|it| it.read("content"))
        .unwrap_or_default();
    let blocks = content.iter().filter_map(|it| RawObject::open(it).ok());
    let texts: Vec<String> = blocks.filter_map(|it| it.read("text")).collect();
    texts.join(" ")
}

/// The key of a cached result's age in seconds.
const AGE_KEY: &str = "io.kitbag/kept_s";

/// Adds the age of a cached result where programs read it and models do not pay for it.
fn add_age(answer: &Raw, age: Duration) -> Raw {
    let answer = RawObject::open(answer).unwrap_or_default();
    let meta = answer.get_object("_meta").unwrap_or_default();
    let meta = meta.with(AGE_KEY, &age.as_secs());
    answer.with("_meta", &meta.to_raw()).to_raw()
}

fn counter_event(counter: RouteCounter) -> OperationEvent {
    match counter {
        RouteCounter::CodeExecutionSuccess => OperationEvent::CodeExecutionSuccess,
        RouteCounter::McpDiscoveryFallback => OperationEvent::McpDiscoveryFallback,
        RouteCounter::McpErrorFallback => OperationEvent::McpErrorFallback,
    }
}

fn operation_path(step: RouteStep) -> OperationPath {
    match step {
        RouteStep::Cache => OperationPath::Cache,
        RouteStep::Template => OperationPath::Template,
        RouteStep::Direct => OperationPath::Direct,
        RouteStep::Candidates => OperationPath::Candidates,
    }
}
