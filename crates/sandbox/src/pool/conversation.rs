//! One run on the gateway's side: a job for the worker, answers to its requests, and a result.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use serde_json::value::RawValue;

use super::worker_failure;
use super::worker_process::WorkerProcess;
use crate::host::{Host, HostAnswer, HostError, HostRequest};
use crate::outcome::{ConsoleLine, RunFailure, RunOutcome};
use crate::protocol::{FinishedRun, FromWorker, MAX_FRAME, MAX_TEXT, ToWorker};
use crate::settings::Budget;

pub(super) struct RunConversation<'a, H> {
    worker: &'a mut WorkerProcess,
    host: &'a H,
    budget: &'a Budget,
    answers: FuturesUnordered<BoxFuture<'a, NumberedAnswer>>,
    /// Requests that wait until fewer are being answered.
    queue: VecDeque<(u64, HostRequest)>,
    /// The bytes of those requests.
    queued: usize,
    console: ConsoleTranscript,
    calls: usize,
}

/// In bytes: the limit on a program's requests and answers in the gateway's memory. A program that
/// asks for more waits; a frame or two more may be in transit.
const MAX_PENDING: usize = 2 * MAX_FRAME;

type NumberedAnswer = (u64, HostAnswer);

impl<'a, H: Host> RunConversation<'a, H> {
    pub(super) fn new(worker: &'a mut WorkerProcess, host: &'a H, budget: &'a Budget) -> Self {
        Self {
            worker,
            host,
            budget,
            answers: FuturesUnordered::new(),
            queue: VecDeque::new(),
            queued: 0,
            console: ConsoleTranscript::new(budget.output),
            calls: 0,
        }
    }

    pub(super) async fn run(mut self, job: ToWorker) -> RunOutcome {
        self.worker.put(&job);
        let expired = wait_for_time_limit(self.host, self.budget.wall);
        let ended = tokio::select! {
            ended = self.exchange_messages() => ended,
            () = expired => Err(RunFailure::TooLong { after: self.budget.wall }),
        };
        self.outcome(ended)
    }

    async fn exchange_messages(&mut self) -> Result<FinishedRun, RunFailure> {
        loop {
            tokio::select! {
                message = self.worker.exchange(self.queued < MAX_PENDING) => if let Some(finished) = self.handle_message(message?)? {
                    return Ok(finished);
                },
                Some((id, answer)) = self.answers.next() => self.send_answer(id, answer),
            }
            self.answer_more();
        }
    }

    fn handle_message(
        &mut self,
        message: Option<FromWorker>,
    ) -> Result<Option<FinishedRun>, RunFailure> {
        match message {
            None => {}
            Some(FromWorker::Finished(finished)) => return Ok(Some(finished)),
            Some(FromWorker::Console(line)) => self.console.add(line),
            Some(FromWorker::Request { id, request }) => self.handle_request(id, request)?,
            Some(other) => return Err(worker_failure::unexpected_message(&other)),
        }
        Ok(None)
    }

    fn handle_request(&mut self, id: u64, request: HostRequest) -> Result<(), RunFailure> {
        let most = self.budget.calls;
        self.calls += 1;
        match self.calls {
            calls if calls <= most => self.enqueue(id, request),
            calls if calls <= 2 * most => self.send_answer(id, Err(too_many(most))),
            _ => return Err(RunFailure::TooManyCalls { most }),
        }
        Ok(())
    }

    fn enqueue(&mut self, id: u64, request: HostRequest) {
        self.queued += request.size();
        self.queue.push_back((id, request));
    }

    fn answer_more(&mut self) {
        while self.answers.len() < self.budget.calls_at_once.max(1)
            && self.worker.unsent() < MAX_PENDING
        {
            let Some((id, request)) = self.queue.pop_front() else {
                return;
            };
            self.queued -= request.size();
            self.answers.push(Box::pin(answer(self.host, id, request)));
        }
    }

    fn send_answer(&mut self, id: u64, answer: HostAnswer) {
        let answer = answer.and_then(check_answer_size).map_err(truncate_error);
        self.worker.put(&ToWorker::Answer { id, answer });
    }

    fn outcome(self, ended: Result<FinishedRun, RunFailure>) -> RunOutcome {
        if let Ok(finished) = &ended {
            self.worker.finished_run(finished.cpu);
        }
        let (value, shape) = match ended {
            Ok(finished) => (check_limits(finished.value, self.budget), finished.shape),
            Err(failure) => (Err(failure), None),
        };
        RunOutcome {
            value,
            console: self.console.lines,
            shape,
            calls: self.calls,
        }
    }
}

/// The worker already enforces these limits, unless it has been compromised.
fn check_limits(value: RunValue, budget: &Budget) -> RunValue {
    match value {
        Ok(value) if value.get().len() > budget.output => {
            Err(worker_failure::unreadable_error(&"its value is too long"))
        }
        Err(failure) if failure.to_string().len() > MAX_SENTENCE => {
            Err(worker_failure::unreadable_error(&"its reason is too long"))
        }
        value => value,
    }
}

type RunValue = Result<Box<RawValue>, RunFailure>;

/// In bytes; the worker truncates the message of an exception to 4,000.
const MAX_SENTENCE: usize = 16_000;

async fn answer<H: Host>(host: &H, id: u64, request: HostRequest) -> NumberedAnswer {
    (id, host.answer(request).await)
}

/// The longest answer that fits into a frame with room for the message around it.
const MAX_ANSWER: usize = MAX_FRAME / 2;

fn check_answer_size(value: Box<RawValue>) -> HostAnswer {
    if value.get().len() <= MAX_ANSWER {
        return Ok(value);
    }
    Err(HostError {
        kind: "too_long".to_owned(),
        message: format!(
            "the result has {} bytes, which is too much for a program; ask for less",
            value.get().len()
        ),
        result: None,
    })
}

fn truncate_error(mut error: HostError) -> HostError {
    error.result = error
        .result
        .filter(|result| result.get().len() <= MAX_ANSWER);
    error
        .message
        .truncate(error.message.floor_char_boundary(MAX_TEXT));
    error
}

fn too_many(most: usize) -> HostError {
    HostError {
        kind: "too_many_calls".to_owned(),
        message: format!("a program may make at most {most} calls"),
        result: None,
    }
}

/// Returns when the run has reached its time limit, not counting time spent waiting for a user.
async fn wait_for_time_limit<H: Host>(host: &H, mut left: Duration) {
    while !left.is_zero() {
        let began = Instant::now();
        tokio::time::sleep(left.min(POLL_INTERVAL)).await;
        if !host.waits_for_person() {
            left = left.saturating_sub(began.elapsed());
        }
    }
}

/// How often to check whether the host is waiting for a user.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The lines that a program printed, up to a byte limit. The worker counts as well, but it may be
/// hostile.
#[derive(Debug)]
struct ConsoleTranscript {
    lines: Vec<ConsoleLine>,
    left: usize,
}

impl ConsoleTranscript {
    /// The notice that more was printed needs room, too.
    fn new(most: usize) -> Self {
        Self {
            lines: Vec::new(),
            left: most + SPARE,
        }
    }

    fn add(&mut self, line: ConsoleLine) {
        if let Some(left) = self.left.checked_sub(line.size()) {
            self.left = left;
            self.lines.push(line);
        }
    }
}

const SPARE: usize = 256;
