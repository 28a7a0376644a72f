//! Starts workers from one thread that lives as long as the sandbox.
//!
//! The kernel kills a worker when the *thread* that started it ends. A runtime thread may end while
//! the gateway continues; this one does not.

use std::process::Stdio;
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::retirement;
use super::worker_failure::unavailable;
use super::worker_process::WorkerProcess;
use crate::jail::{LayerReport, TIME_ZONE};
use crate::outcome::RunFailure;
use crate::protocol::JailLimits;
use crate::settings::{Isolation, SandboxSettings, WorkerCommand};

#[derive(Debug)]
pub(super) struct Launcher {
    settings: Arc<SandboxSettings>,
    /// The channel to the thread, which starts with the first worker.
    orders: OnceLock<mpsc::Sender<Order>>,
}

type Order = oneshot::Sender<std::io::Result<Child>>;

impl Launcher {
    pub(super) fn new(settings: Arc<SandboxSettings>) -> Self {
        Self {
            settings,
            orders: OnceLock::new(),
        }
    }

    /// Starts a worker in its jail. Fails if a layer is missing and all are required.
    pub(super) async fn start(&self) -> Result<WorkerProcess, RunFailure> {
        let worker = self.start_with_any_layers().await?;
        match self.settings.isolation {
            Isolation::Required => require_all_layers(worker),
            Isolation::BestEffort => Ok(worker),
        }
    }

    /// Starts a worker, whichever layers its jail lacks.
    pub(super) async fn start_with_any_layers(&self) -> Result<WorkerProcess, RunFailure> {
        let child = self
            .spawn()
            .await
            .map_err(|error| self.start_failure(&error))?;
        WorkerProcess::greet(child, self.limits()).await
    }

    async fn spawn(&self) -> std::io::Result<Child> {
        let (order, child) = oneshot::channel();
        let orders = self
            .orders
            .get_or_init(|| start_thread(&self.settings.worker));
        // If there is no thread, the order is dropped.
        let _ = orders.send(order);
        child
            .await
            .unwrap_or_else(|_| Err(std::io::Error::other("no thread could be started")))
    }

    fn limits(&self) -> JailLimits {
        JailLimits {
            memory: self.settings.budget.memory,
            cpu: 2 * retirement(&self.settings.budget),
        }
    }

    fn start_failure(&self, error: &std::io::Error) -> RunFailure {
        let program = self.settings.worker.program.display();
        unavailable(&format!(
            "the worker {program} could not be started: {error}"
        ))
    }
}

fn start_thread(command: &WorkerCommand) -> mpsc::Sender<Order> {
    let (orders, taken) = mpsc::channel();
    let command = command.clone();
    let runtime = Handle::current();
    // If no thread can be started, each order reports it.
    let _ = thread::Builder::new()
        .name("sandbox-launcher".to_owned())
        .spawn(move || serve_orders(&command, &taken, &runtime));
    orders
}

fn serve_orders(command: &WorkerCommand, orders: &mpsc::Receiver<Order>, runtime: &Handle) {
    let _context = runtime.enter();
    for order in orders {
        // A child that is no longer wanted is killed on drop.
        let _ = order.send(spawn_child(command));
    }
}

fn spawn_child(command: &WorkerCommand) -> std::io::Result<Child> {
    Command::new(&command.program)
        .args(&command.arguments)
        .env_clear()
        .env(TIME_ZONE.0, TIME_ZONE.1)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // The output of a hostile process does not belong in the log.
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

fn require_all_layers(worker: WorkerProcess) -> Result<WorkerProcess, RunFailure> {
    let missing: Vec<_> = worker
        .layers()
        .iter()
        .filter(|layer| layer.missing.is_some())
        .collect();
    if missing.is_empty() {
        return Ok(worker);
    }
    Err(unavailable(&missing_layers(&missing)))
}

fn missing_layers(missing: &[&LayerReport]) -> String {
    let layers: Vec<_> = missing.iter().map(ToString::to_string).collect();
    format!(
        "the sandbox is incomplete: {}. Fix this, or allow programs with the available layers",
        layers.join("; ")
    )
}
