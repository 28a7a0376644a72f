//! Decides which waiting run gets a worker next, and which worker.
//!
//! A worker that has served one use serves no other. Uses that wait take turns, and none of them
//! can hold every place.

use std::collections::{HashMap, VecDeque};

use kitbag_domain::Tenant;

/// The party that a worker serves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum WorkerUse {
    Programs(Tenant),
    /// Programs that are only read.
    Checks,
}

/// Workers `W` and the tickets `T` of runs that wait for one.
#[derive(Debug)]
pub(super) struct Hall<W, T> {
    warm: usize,
    most: usize,
    /// The one that has rested longest is first. A worker without a use is fresh.
    idle: Vec<(Option<WorkerUse>, W)>,
    /// Workers that are being started for later.
    warming: usize,
    running: HashMap<WorkerUse, usize>,
    /// The use whose turn it is comes first.
    waiting: VecDeque<(WorkerUse, VecDeque<T>)>,
}

/// A place for a run, with the worker that is there, if one is.
#[derive(Debug)]
pub(super) struct Admission<W, T> {
    pub ticket: T,
    pub serves: WorkerUse,
    pub worker: Option<W>,
}

impl<W, T> Hall<W, T> {
    pub(super) fn new(warm: usize, most: usize) -> Self {
        Self {
            warm,
            most,
            idle: Vec::new(),
            warming: 0,
            running: HashMap::new(),
            waiting: VecDeque::new(),
        }
    }

    pub(super) fn queue(&mut self, serves: WorkerUse, ticket: T) {
        match self.waiting.iter_mut().find(|(other, _)| *other == serves) {
            Some((_, tickets)) => tickets.push_back(ticket),
            None => self.waiting.push_back((serves, VecDeque::from([ticket]))),
        }
    }

    /// Takes the runs out that no longer wait.
    pub(super) fn forget(&mut self, gone: impl Fn(&T) -> bool) {
        for (_, tickets) in &mut self.waiting {
            tickets.retain(|ticket| !gone(ticket));
        }
        self.waiting.retain(|(_, tickets)| !tickets.is_empty());
    }

    /// Admits the next run, if there is one and a place for it.
    pub(super) fn admit(&mut self) -> Option<Admission<W, T>> {
        let turn = self.turn()?;
        let worker = self.place(&self.waiting[turn].0.clone())?;
        let (serves, mut tickets) = self.waiting.remove(turn)?;
        let ticket = tickets.pop_front()?;
        *self.running.entry(serves.clone()).or_default() += 1;
        if !tickets.is_empty() {
            self.waiting.push_back((serves.clone(), tickets));
        }
        Some(Admission {
            ticket,
            serves,
            worker,
        })
    }

    /// The run has ended, and its worker as well unless it was handed to [`Self::rest`].
    pub(super) fn leave(&mut self, serves: &WorkerUse) {
        let left = self.running_of(serves).saturating_sub(1);
        match left {
            0 => self.running.remove(serves),
            _ => self.running.insert(serves.clone(), left),
        };
    }

    /// Keeps a worker for a later run of the same use.
    pub(super) fn rest(&mut self, serves: WorkerUse, worker: W) {
        self.idle.push((Some(serves), worker));
    }

    /// True if a worker should be started for later; the hall then counts on [`Self::warmed`].
    pub(super) fn wants_warm(&mut self) -> bool {
        let fresh = self
            .idle
            .iter()
            .filter(|(serves, _)| serves.is_none())
            .count();
        let wanted = self.waiting.is_empty()
            && fresh + self.warming < self.warm
            && self.workers() < self.most;
        self.warming += usize::from(wanted);
        wanted
    }

    pub(super) fn warmed(&mut self, worker: Option<W>) {
        self.warming -= 1;
        self.idle.extend(worker.map(|worker| (None, worker)));
    }

    /// Takes out the workers that rest beyond the number that is kept, the longest rested first.
    pub(super) fn surplus(&mut self) -> Vec<W> {
        let used = self
            .idle
            .iter()
            .filter(|(serves, _)| serves.is_some())
            .count();
        let mut surplus = Vec::new();
        while used - surplus.len() > self.warm {
            let Some(oldest) = self.idle.iter().position(|(serves, _)| serves.is_some()) else {
                break;
            };
            surplus.push(self.idle.remove(oldest).1);
        }
        surplus
    }

    /// The use with the fewest runs; among equals, the one that has waited longest for its turn.
    fn turn(&self) -> Option<usize> {
        // One place is left to others, so that long runs of one tenant do not shut them out.
        let share = self.most.saturating_sub(1).max(1);
        let runs = self
            .waiting
            .iter()
            .map(|(serves, _)| self.running_of(serves));
        let within = runs.enumerate().filter(|(_, runs)| *runs < share);
        within.min_by_key(|(_, runs)| *runs).map(|(turn, _)| turn)
    }

    fn running_of(&self, serves: &WorkerUse) -> usize {
        self.running.get(serves).copied().unwrap_or_default()
    }

    /// A place: one with a worker for this use, one without, or none at all.
    #[expect(
        clippy::option_option,
        reason = "a place may be there without a worker"
    )]
    fn place(&mut self, serves: &WorkerUse) -> Option<Option<W>> {
        let own = self
            .idle
            .iter()
            .rposition(|(used, _)| used.as_ref() == Some(serves));
        let fresh = self.idle.iter().position(|(used, _)| used.is_none());
        if let Some(at) = own.or(fresh) {
            return Some(Some(self.idle.remove(at).1));
        }
        if self.workers() >= self.most {
            // All that are idle served others. The longest rested one makes room.
            (!self.idle.is_empty()).then(|| self.idle.remove(0))?;
        }
        Some(None)
    }

    fn workers(&self) -> usize {
        self.idle.len() + self.warming + self.running.values().sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestHall = Hall<&'static str, u32>;

    fn tenant(name: &str) -> WorkerUse {
        WorkerUse::Programs(name.parse().unwrap())
    }

    /// Queues a run for each name in order, and says whose runs are admitted.
    fn admitted(hall: &mut TestHall, names: &[&str]) -> Vec<String> {
        for (ticket, name) in (0..).zip(names) {
            hall.queue(tenant(name), ticket);
        }
        std::iter::from_fn(|| hall.admit())
            .map(|admission| shown(&admission))
            .collect()
    }

    fn shown(admission: &Admission<&'static str, u32>) -> String {
        let WorkerUse::Programs(name) = &admission.serves else {
            panic!("a check")
        };
        format!("{name} {}", admission.worker.unwrap_or("new"))
    }

    #[test]
    fn tenants_that_wait_take_turns() {
        let mut hall = Hall::new(0, 4);
        assert_eq!(
            admitted(&mut hall, &["a", "a", "a", "b", "c"]),
            ["a new", "b new", "c new", "a new"]
        );
    }

    #[test]
    fn a_tenant_with_fewer_runs_goes_first_and_so_keeps_its_worker() {
        let mut hall = Hall::new(2, 3);
        assert_eq!(admitted(&mut hall, &["a", "b"]), ["a new", "b new"]);
        hall.rest(tenant("b"), "used");
        hall.leave(&tenant("b"));
        assert_eq!(admitted(&mut hall, &["a", "b"]), ["b used", "a new"]);
    }

    #[test]
    fn the_last_place_is_left_to_another_tenant() {
        let mut hall = Hall::new(0, 3);
        assert_eq!(admitted(&mut hall, &["a", "a", "a"]), ["a new", "a new"]);
        assert_eq!(admitted(&mut hall, &["b"]), ["b new"]);
    }

    #[test]
    fn a_sandbox_of_one_place_serves_a_lone_tenant() {
        let mut hall = Hall::new(0, 1);
        assert_eq!(admitted(&mut hall, &["a", "a"]), ["a new"]);
        hall.leave(&tenant("a"));
        assert_eq!(admitted(&mut hall, &[]), ["a new"]);
    }

    #[test]
    fn a_worker_serves_only_the_tenant_it_has_served() {
        let mut hall = Hall::new(1, 2);
        hall.rest(tenant("a"), "used");
        assert_eq!(admitted(&mut hall, &["b", "a"]), ["b new", "a used"]);
    }

    #[test]
    fn an_idle_worker_of_another_tenant_makes_room() {
        let mut hall = Hall::new(1, 1);
        hall.rest(tenant("a"), "used");
        assert_eq!(admitted(&mut hall, &["b"]), ["b new"]);
        assert!(hall.idle.is_empty());
    }

    #[test]
    fn a_fresh_worker_is_taken_before_one_is_started() {
        let mut hall = Hall::new(1, 2);
        assert!(hall.wants_warm() && !hall.wants_warm());
        hall.warmed(Some("fresh"));
        assert_eq!(admitted(&mut hall, &["a"]), ["a fresh"]);
    }

    #[test]
    fn more_rested_workers_than_are_kept_are_ended() {
        let mut hall: TestHall = Hall::new(1, 4);
        hall.rest(tenant("a"), "older");
        hall.rest(tenant("b"), "newer");
        assert_eq!(hall.surplus(), ["older"]);
    }

    #[test]
    fn a_cancelled_run_leaves_the_row() {
        let mut hall = Hall::new(0, 1);
        hall.queue(tenant("a"), 7);
        hall.forget(|ticket| *ticket == 7);
        assert_eq!(admitted(&mut hall, &["b"]), ["b new"]);
    }
}
