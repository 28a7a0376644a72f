//! The places that workers have: a run waits for one, holds it, and gives it back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::death::unavailable;
use super::hall::{Admission, Hall, WorkerUse};
use super::launcher::Launcher;
use super::retirement;
use super::worker_process::WorkerProcess;
use crate::outcome::RunFailure;
use crate::settings::SandboxSettings;

#[derive(Debug)]
pub(super) struct Places {
    launcher: Launcher,
    retirement: Duration,
    hall: Mutex<Hall<WorkerProcess, PlaceTicket>>,
}

type PlaceTicket = oneshot::Sender<(Option<WorkerProcess>, HeldPlace)>;

impl Places {
    pub(super) fn new(launcher: Launcher, settings: &SandboxSettings) -> Arc<Self> {
        Arc::new(Self {
            launcher,
            retirement: retirement(&settings.budget),
            hall: Mutex::new(Hall::new(settings.warm, settings.most.max(1))),
        })
    }

    /// Waits for a place, and starts a worker there if none is ready.
    pub(super) async fn take(
        self: &Arc<Self>,
        serves: WorkerUse,
    ) -> Result<LentWorker, RunFailure> {
        let (ticket, turn) = oneshot::channel();
        self.hall().queue(serves, ticket);
        self.serve();
        // The hall drops no ticket that is waited for.
        let (found, place) = turn.await.map_err(|error| unavailable(&error))?;
        place.lend(found).await
    }

    /// A worker beside the places, whichever layers its jail lacks.
    pub(super) async fn start(&self) -> Result<WorkerProcess, RunFailure> {
        self.launcher.start_anyhow().await
    }

    /// Starts workers for later, in the background, where there are places that no run wants.
    pub(super) fn fill(self: &Arc<Self>) {
        while self.hall().wants_warm() {
            tokio::spawn(warm(self.clone()));
        }
    }

    /// Hands places to the runs that wait, and then looks after those that none wants.
    fn serve(self: &Arc<Self>) {
        self.hand_out_all();
        drop(self.hall().surplus());
        self.fill();
    }

    fn hand_out_all(self: &Arc<Self>) {
        self.hall().forget(PlaceTicket::is_closed);
        while let Some(admission) = self.admit() {
            self.hand_out(admission);
        }
    }

    /// On its own, so that the lock is not held while a place is handed out.
    fn admit(&self) -> Option<Admission<WorkerProcess, PlaceTicket>> {
        self.hall().admit()
    }

    fn hand_out(self: &Arc<Self>, admission: Admission<WorkerProcess, PlaceTicket>) {
        let place = HeldPlace {
            places: self.clone(),
            serves: admission.serves,
        };
        // If the run was cancelled just now, the place is dropped here and is free again.
        let _ = admission.ticket.send((admission.worker, place));
    }

    fn hall(&self) -> MutexGuard<'_, Hall<WorkerProcess, PlaceTicket>> {
        self.hall.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn warm(places: Arc<Places>) {
    let started = places.launcher.start().await;
    if let Err(failure) = &started {
        tracing::debug!(%failure, "no worker could be kept ready");
    }
    // After a failure no worker is started again until a run needs one.
    places.hall().warmed(started.ok());
    places.hand_out_all();
}

/// A worker that is lent to one run. Dropped, it ends.
#[derive(Debug)]
pub(super) struct LentWorker {
    pub process: WorkerProcess,
    place: HeldPlace,
}

impl LentWorker {
    /// Leaves the worker to a later run of the same use, if it is fit for one.
    pub(super) fn give_back(self) {
        let Self { process, place } = self;
        if let Some(process) = place.fit(process) {
            place.places.hall().rest(place.serves.clone(), process);
        }
    }
}

/// A place of a run. Dropped, it is free for the next one.
#[derive(Debug)]
struct HeldPlace {
    places: Arc<Places>,
    serves: WorkerUse,
}

impl HeldPlace {
    /// Lends the worker that is in this place, or a new one.
    async fn lend(self, found: Option<WorkerProcess>) -> Result<LentWorker, RunFailure> {
        let process = match found.and_then(|process| self.fit(process)) {
            Some(process) => process,
            None => self.places.launcher.start().await?,
        };
        Ok(LentWorker {
            process,
            place: self,
        })
    }

    fn fit(&self, mut process: WorkerProcess) -> Option<WorkerProcess> {
        process.is_fit(self.places.retirement).then_some(process)
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        self.places.hall().leave(&self.serves);
        self.places.serve();
    }
}
