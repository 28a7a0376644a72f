//! The gateway's side: starting workers, lending them to runs, and ending them.

mod conversation;
mod frame;
mod launcher;
mod slots;
mod worker_failure;
mod worker_process;
mod worker_queue;

use std::sync::Arc;
use std::time::Duration;

use kitbag_domain::Tenant;
use kitbag_script::{ProgramShape, SyntaxMistake};

use crate::host::Host;
use crate::jail::{JailLayer, LayerReport};
use crate::outcome::{RunFailure, RunOutcome};
use crate::protocol::{FromWorker, MAX_TEXT, RunJob, ToWorker};
use crate::settings::{Budget, Program, SandboxSettings};
use conversation::RunConversation;
use launcher::Launcher;
use slots::{LentWorker, WorkerSlots};
use worker_queue::WorkerUse;

/// Runs programs in workers. Clones share the workers.
#[derive(Debug, Clone)]
pub struct Sandbox {
    slots: Arc<WorkerSlots>,
    settings: Arc<SandboxSettings>,
}

/// The reason why a program did not pass the check.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CheckFailure {
    #[error(transparent)]
    Syntax(#[from] SyntaxMistake),
    /// The program could not be parsed at all, because of its author or this machine.
    #[error(transparent)]
    Unread(RunFailure),
}

impl Sandbox {
    /// No worker is started before it is needed.
    pub fn new(settings: SandboxSettings) -> Self {
        let settings = Arc::new(settings);
        let launcher = Launcher::new(settings.clone());
        let slots = WorkerSlots::new(launcher, &settings);
        Self { slots, settings }
    }

    /// Starts idle workers in the background. Without this, they are started after the first run.
    /// Must be called within a Tokio runtime.
    pub fn warm_up(&self) {
        self.slots.fill();
    }

    /// Runs a program to its end. A dropped run is killed, with its requests.
    pub async fn run<H: Host>(&self, owner: &Tenant, program: Program, host: &H) -> RunOutcome {
        if let Err(mistake) = check_program_size(&program) {
            return RunOutcome::from_failure(RunFailure::Syntax(mistake));
        }
        match self.lend(WorkerUse::Programs(owner.clone())).await {
            Ok(worker) => self.run_in(worker, program, host).await,
            Err(failure) => RunOutcome::from_failure(failure),
        }
    }

    /// Parses a program without running it. This is also done in a worker: parsing a malicious text
    /// can overflow the stack.
    pub async fn check(&self, source: &str) -> Result<ProgramShape, CheckFailure> {
        check_text_size(source.len())?;
        let worker = self.lend(WorkerUse::Checks).await;
        let worker = worker.map_err(CheckFailure::Unread)?;
        let reading = check_in(worker, source.to_owned());
        match tokio::time::timeout(self.settings.budget.wall, reading).await {
            Ok(read) => read,
            Err(_) => Err(CheckFailure::Unread(self.too_long())),
        }
    }

    /// The layers of the jail on this machine, for diagnostics.
    pub async fn layers(&self) -> Vec<LayerReport> {
        match self.slots.start().await {
            Ok(worker) => worker.layers().to_vec(),
            Err(failure) => JailLayer::ALL
                .map(|layer| unknown_layer(layer, &failure))
                .to_vec(),
        }
    }

    /// Waits for a worker for this use, at most as long as a run may take.
    async fn lend(&self, serves: WorkerUse) -> Result<LentWorker, RunFailure> {
        let slot = self.slots.acquire(serves);
        match tokio::time::timeout(self.settings.budget.wall, slot).await {
            Ok(worker) => worker,
            Err(_) => Err(RunFailure::Busy {
                workers: self.settings.most,
            }),
        }
    }

    async fn run_in<H: Host>(
        &self,
        mut worker: LentWorker,
        program: Program,
        host: &H,
    ) -> RunOutcome {
        let job = job(program, &self.settings.budget);
        let conversation = RunConversation::new(&mut worker.process, host, &self.settings.budget);
        let outcome = conversation.run(job).await;
        if outcome
            .value
            .as_ref()
            .err()
            .is_none_or(RunFailure::leaves_worker_usable)
        {
            worker.give_back();
        }
        outcome
    }

    fn too_long(&self) -> RunFailure {
        RunFailure::TooLong {
            after: self.settings.budget.wall,
        }
    }
}

fn check_program_size(program: &Program) -> Result<(), SyntaxMistake> {
    let params = program
        .params
        .as_ref()
        .map_or(0, |params| params.get().len());
    check_text_size(program.source.len() + params)
}

fn check_text_size(bytes: usize) -> Result<(), SyntaxMistake> {
    if bytes <= MAX_TEXT {
        return Ok(());
    }
    Err(SyntaxMistake {
        message: format!(
            "the program has {bytes} bytes with its parameters, and may have {MAX_TEXT}"
        ),
        line: 1,
        column: 1,
        hint: None,
    })
}

fn job(program: Program, budget: &Budget) -> ToWorker {
    ToWorker::Run(RunJob {
        source: program.source,
        params: program.params,
        wants_shape: program.wants_shape,
        cpu: budget.cpu,
        memory: budget.memory,
        output: budget.output,
    })
}

async fn check_in(mut worker: LentWorker, source: String) -> Result<ProgramShape, CheckFailure> {
    match worker.process.ask(&ToWorker::Check { source }).await {
        Ok(FromWorker::Checked(checked)) => {
            worker.give_back();
            Ok(checked?)
        }
        Ok(other) => Err(CheckFailure::Unread(worker_failure::unexpected_message(
            &other,
        ))),
        Err(failure) => Err(CheckFailure::Unread(failure)),
    }
}

fn unknown_layer(layer: JailLayer, failure: &RunFailure) -> LayerReport {
    LayerReport {
        layer,
        missing: Some(failure.to_string()),
    }
}

/// A worker is retired after this many budgets of processor time; the kernel kills it after twice
/// as many.
const CPU_BUDGETS: u32 = 4;

fn retirement(budget: &Budget) -> Duration {
    budget.cpu * CPU_BUDGETS
}
