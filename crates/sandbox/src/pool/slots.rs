//! The slots of workers: a run waits for one, occupies it, and gives it back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::launcher::Launcher;
use super::retirement;
use super::worker_failure::unavailable;
use super::worker_process::WorkerProcess;
use super::worker_queue::{Admission, WorkerQueue, WorkerUse};
use crate::outcome::RunFailure;
use crate::settings::SandboxSettings;

#[derive(Debug)]
pub(super) struct WorkerSlots {
    launcher: Launcher,
    retirement: Duration,
    queue: Mutex<WorkerQueue<WorkerProcess, SlotTicket>>,
}

type SlotTicket = oneshot::Sender<(Option<WorkerProcess>, OccupiedSlot)>;

impl WorkerSlots {
    pub(super) fn new(launcher: Launcher, settings: &SandboxSettings) -> Arc<Self> {
        Arc::new(Self {
            launcher,
            retirement: retirement(&settings.budget),
            queue: Mutex::new(WorkerQueue::new(settings.warm, settings.most.max(1))),
        })
    }

    /// Waits for a slot, and starts a worker in it if none is ready.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        serves: WorkerUse,
    ) -> Result<LentWorker, RunFailure> {
        let (ticket, turn) = oneshot::channel();
        self.queue().push(serves, ticket);
        self.serve();
        // A queued ticket is never dropped while its run waits.
        let (found, slot) = turn.await.map_err(|error| unavailable(&error))?;
        slot.lend(found).await
    }

    /// Starts a worker outside the slots, whichever layers its jail lacks.
    pub(super) async fn start(&self) -> Result<WorkerProcess, RunFailure> {
        self.launcher.start_with_any_layers().await
    }

    /// Starts workers for later, in the background, in free slots.
    pub(super) fn fill(self: &Arc<Self>) {
        while self.queue().wants_warm() {
            tokio::spawn(warm(self.clone()));
        }
    }

    /// Gives slots to waiting runs, and then prepares the free ones.
    fn serve(self: &Arc<Self>) {
        self.hand_out_all();
        drop(self.queue().surplus());
        self.fill();
    }

    fn hand_out_all(self: &Arc<Self>) {
        self.queue().forget(SlotTicket::is_closed);
        while let Some(admission) = self.admit() {
            self.hand_out(admission);
        }
    }

    /// A separate function, so that the lock is not held while a slot is given out.
    fn admit(&self) -> Option<Admission<WorkerProcess, SlotTicket>> {
        self.queue().admit()
    }

    fn hand_out(self: &Arc<Self>, admission: Admission<WorkerProcess, SlotTicket>) {
        let slot = OccupiedSlot {
            slots: self.clone(),
            serves: admission.serves,
        };
        // If the run was just cancelled, the slot is dropped here and free again.
        let _ = admission.ticket.send((admission.worker, slot));
    }

    fn queue(&self) -> MutexGuard<'_, WorkerQueue<WorkerProcess, SlotTicket>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn warm(slots: Arc<WorkerSlots>) {
    let started = slots.launcher.start().await;
    if let Err(failure) = &started {
        tracing::debug!(%failure, "no worker could be kept ready");
    }
    // After a failure, no worker is started until a run needs one.
    slots.queue().add_warm_worker(started.ok());
    slots.hand_out_all();
}

/// A worker that is lent to one run. Dropping it ends it.
#[derive(Debug)]
pub(super) struct LentWorker {
    pub process: WorkerProcess,
    slot: OccupiedSlot,
}

impl LentWorker {
    /// Returns the worker for a later run of the same use, if it is fit for one.
    pub(super) fn give_back(self) {
        let Self { process, slot } = self;
        if let Some(process) = slot.fit(process) {
            slot.slots.queue().keep_worker(slot.serves.clone(), process);
        }
    }
}

/// A run's slot, which is freed on drop.
#[derive(Debug)]
struct OccupiedSlot {
    slots: Arc<WorkerSlots>,
    serves: WorkerUse,
}

impl OccupiedSlot {
    /// Lends the worker in this slot, or a new one.
    async fn lend(self, found: Option<WorkerProcess>) -> Result<LentWorker, RunFailure> {
        let process = match found.and_then(|process| self.fit(process)) {
            Some(process) => process,
            None => self.slots.launcher.start().await?,
        };
        Ok(LentWorker {
            process,
            slot: self,
        })
    }

    fn fit(&self, mut process: WorkerProcess) -> Option<WorkerProcess> {
        process.is_fit(self.slots.retirement).then_some(process)
    }
}

impl Drop for OccupiedSlot {
    fn drop(&mut self) {
        self.slots.queue().finish_run(&self.serves);
        self.slots.serve();
    }
}
