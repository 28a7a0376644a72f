//! `run_intent`: a request in words is carried out by a kept result, a template or a tool, in this
//! order; if none fits, the model gets the tools that may.
//!
//! # Layout
//! - this file: the steps of a request, in the order that `kitbag_intents::route` decides
//! - `template`: a template or a simple tool answers; `direct`: a tool that was found does
//! - `candidates`: the tools to choose from
//! - `learn`: programs that worked become templates

mod candidates;
mod direct;
pub(super) mod learn;
mod template;

use std::time::{Duration, Instant};

use kitbag_domain::text::strip_to_one_line;
use kitbag_domain::{Outcome, ServerName};
use kitbag_intents::cache::NewResult;
use kitbag_intents::route::{self, RouteNext, RouteTurn, StepEnd};
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

/// A request in words on its way.
struct IntentRequest {
    turn: Turn,
    words: String,
    given: Map<String, Value>,
    /// The key of its result among those that are kept.
    key: CacheKey,
    mark: CacheMark,
    /// The last failure, which is the answer if no further step may be tried.
    failed: Option<Raw>,
    /// The parts that the words lack for the template or tool that fits them best.
    note: Option<String>,
    /// The call that a template that failed would have consisted of.
    instead: Option<DirectCall>,
}

/// The end of a step: an answer, a failure, or nothing to try.
enum Attempt {
    Done {
        answer: Raw,
        /// The time for which the answer may be used again, and the servers that it came from;
        /// absent for an answer that is not only read.
        keep: Option<(Duration, Vec<ServerName>)>,
    },
    Nothing,
    /// A template or tool fits the words, which lack something for it.
    Incomplete {
        note: String,
    },
    Failed {
        answer: Raw,
        may_have_written: bool,
        /// The call that the program consisted of, if it was one.
        instead: Option<DirectCall>,
    },
}

pub(super) async fn run_intent(
    turn: &Turn,
    asked: RunIntentArguments,
    params: &RawObject,
) -> Result<Raw, Failure> {
    run_with_questions(turn, params, |turn| async move {
        let started = Instant::now();
        let asked_tokens = kitbag_budget::estimate_tokens(&asked.intent)
            + kitbag_budget::estimate_tokens(&Value::Object(asked.params.clone()).to_string());
        let mark = lock(&turn.gateway.services.intents.results).mark();
        let words = CacheSubject::Words(&asked.intent);
        let key = CacheKey::new(&turn.caller().tenant, words, &asked.params);
        let mut request = IntentRequest {
            key,
            turn,
            words: asked.intent,
            given: asked.params,
            mark,
            failed: None,
            note: None,
            instead: None,
        };
        let intents = request.turn.gateway.services.intents.clone();
        let _under_way = match request.is_cached() {
            true => None,
            false => intents.begin_or_wait(&request.key).await,
        };
        let (step, answer) = Box::pin(request.run_steps()).await;
        request.record_operation(step, started, asked_tokens, &answer);
        Ok(answer)
    })
    .await
}

impl IntentRequest {
    /// Takes one step after the other, and returns the last one with its answer.
    async fn run_steps(&mut self) -> (RouteStep, Raw) {
        let flags = self.turn.gateway.code.route;
        let mut step = route::FIRST;
        if let Some(sought) = Discovery::parse(&self.words, &self.given) {
            let begun = route::discovery_first(&flags);
            self.words = sought.words;
            self.given = sought.arguments;
            self.record_step(&begun);
            match begun.next {
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

    /// Keeps what a step without an answer leaves for the next ones.
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

    /// A failure with the tools that the model can go on with.
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
        let kept = lock(&services.intents.results)
            .get(&self.key, now())
            .cloned();
        let Some(CachedAnswer { answer, since }) = kept else {
            services
                .meter
                .happened(&self.turn.client, OperationEvent::CacheMiss);
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

    /// Counts and logs what a step led to.
    fn record_step(&self, next: &RouteTurn) {
        let meter = &self.turn.gateway.services.meter;
        if let Some(counter) = next.counter {
            meter.happened(&self.turn.client, counter_event(counter));
        }
        let tenant = self.turn.caller().tenant.as_str();
        match next.event {
            Some(RouteEvent::FallingBackToDiscovery) => {
                let intent = self.words_for_log();
                let lacks = self.note.as_deref();
                tracing::info!(tenant, intent, lacks, "falling_back_to_discovery");
            }
            // Told with its template and error where the template ran.
            Some(RouteEvent::CodeExecutionFailed) | None => {}
        }
    }

    fn log_template_failure(&self, template: &TemplateName, answer: &Raw) {
        const LONGEST: usize = 300;
        let tenant = self.turn.caller().tenant.as_str();
        let intent = self.words_for_log();
        let error = strip_to_one_line(&answer_text(answer));
        let error = &error[..error.floor_char_boundary(LONGEST)];
        tracing::warn!(tenant, intent, template = %template, error, "code_execution_failed");
    }

    /// The first words of the request on one line. Parameters may hold anything and stay out.
    fn words_for_log(&self) -> String {
        const LONGEST: usize = 200;
        let mut words = strip_to_one_line(&self.words);
        words.truncate(words.floor_char_boundary(LONGEST));
        words
    }

    fn unknown_intent(&self) -> Raw {
        if let Some(failed) = &self.failed {
            return failed.clone();
        }
        let failure = Failure::bad_params(
            "nothing was run, because nothing here is known to do this; say it in other words, or write a program for run_code",
        );
        reply::to_tool_result(&failure, self.turn.client.era)
    }

    fn record_operation(&self, step: RouteStep, started: Instant, asked: usize, answer: &Raw) {
        let failed = RawObject::peek_member(answer, "isError").is_some_and(|it| it.get() == "true");
        let ended = CompletedOperation {
            path: operation_path(step),
            outcome: if failed {
                Outcome::ToolError
            } else {
                Outcome::Ok
            },
            latency: started.elapsed(),
            request_tokens: asked,
            answer_tokens: kitbag_budget::estimate_result_tokens(answer.get()),
        };
        let meter = &self.turn.gateway.services.meter;
        meter.record_operation(&self.turn.client, &ended);
    }
}

impl Attempt {
    /// The end of a program, or of the call that stands for one. `ttl` is the time for which its
    /// result may be used again if the program only read.
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

    /// An answer that is no result: a question back to the model.
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

/// The text of an answer.
fn answer_text(answer: &Raw) -> String {
    let content: Vec<Raw> = RawObject::open(answer)
        .ok()
        .and_then(|it| it.read("content"))
        .unwrap_or_default();
    let blocks = content.iter().filter_map(|it| RawObject::open(it).ok());
    let texts: Vec<String> = blocks.filter_map(|it| it.read("text")).collect();
    texts.join(" ")
}

/// The key under which a result that was kept says how many seconds ago it was read.
const AGE_KEY: &str = "io.kitbag/kept_s";

/// Says the age of a kept result where programs read it and models are not charged for it.
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
