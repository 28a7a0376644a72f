//! Decides which waiting run gets a worker next, and which worker.
//!
//! A worker is never reused for another use. Waiting uses take turns, and none of them can occupy
//! every slot.

use std::collections::{HashMap, VecDeque};

use kitbag_domain::Tenant;

/// The tenant or purpose that a worker serves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum WorkerUse {
    Programs(Tenant),
    /// Programs that are only parsed.
    Checks,
}

/// Workers `W` and the tickets `T` of runs that wait for one.
#[derive(Debug)]
pub(super) struct WorkerQueue<W, T> {
    warm: usize,
    most: usize,
    /// Longest idle first. A worker without a use is fresh.
    idle: Vec<(Option<WorkerUse>, W)>,
    /// Workers being started for later.
    warming: usize,
    running: HashMap<WorkerUse, usize>,
    /// The use whose turn it is comes first.
    waiting: VecDeque<(WorkerUse, VecDeque<T>)>,
}

/// A slot for a run, with its idle worker, if any.
#[derive(Debug)]
pub(super) struct Admission<W, T> {
    pub ticket: T,
    pub serves: WorkerUse,
    pub worker: Option<W>,
}

impl<W, T> WorkerQueue<W, T> {
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

    pub(super) fn push(&mut self, serves: WorkerUse, ticket: T) {
        match self.waiting.iter_mut().find(|(other, _)| *other == serves) {
            Some((_, tickets)) => tickets.push_back(ticket),
            None => self.waiting.push_back((serves, VecDeque::from([ticket]))),
        }
    }

    /// Removes the runs that no longer wait.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&T) -> bool) {
        for (_, tickets) in &mut self.waiting {
            tickets.retain(|ticket| !is_gone(ticket));
        }
        self.waiting.retain(|(_, tickets)| !tickets.is_empty());
    }

    /// Admits the next run, if there is one and a slot for it.
    pub(super) fn admit(&mut self) -> Option<Admission<W, T>> {
        let turn = self.next_use()?;
        let worker = self.slot(&self.waiting[turn].0.clone())?;
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

    /// The run has ended, and so has its worker unless it was passed to [`Self::keep_worker`].
    pub(super) fn finish_run(&mut self, serves: &WorkerUse) {
        let left = self.count_running(serves).saturating_sub(1);
        match left {
            0 => self.running.remove(serves),
            _ => self.running.insert(serves.clone(), left),
        };
    }

    /// Keeps a worker for a later run of the same use.
    pub(super) fn keep_worker(&mut self, serves: WorkerUse, worker: W) {
        self.idle.push((Some(serves), worker));
    }

    /// True if a worker should be started for later; the caller must then call
    /// [`Self::add_warm_worker`].
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

    pub(super) fn add_warm_worker(&mut self, worker: Option<W>) {
        self.warming -= 1;
        self.idle.extend(worker.map(|worker| (None, worker)));
    }

    /// Removes the idle workers in excess of the limit, longest idle first.
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

    /// The use with the fewest runs; among equals, the one that has waited longest.
    fn next_use(&self) -> Option<usize> {
        // One slot is left to others, so that long runs of one tenant do not lock them out.
        let share = self.most.saturating_sub(1).max(1);
        let runs = self
            .waiting
            .iter()
            .map(|(serves, _)| self.count_running(serves));
        let within = runs.enumerate().filter(|(_, runs)| *runs < share);
        within.min_by_key(|(_, runs)| *runs).map(|(turn, _)| turn)
    }

    fn count_running(&self, serves: &WorkerUse) -> usize {
        self.running.get(serves).copied().unwrap_or_default()
    }

    /// Returns a slot, with or without a worker for this use; `None` if there is no free slot.
    #[expect(clippy::option_option, reason = "a slot may be there without a worker")]
    fn slot(&mut self, serves: &WorkerUse) -> Option<Option<W>> {
        let own = self
            .idle
            .iter()
            .rposition(|(used, _)| used.as_ref() == Some(serves));
        let fresh = self.idle.iter().position(|(used, _)| used.is_none());
        if let Some(at) = own.or(fresh) {
            return Some(Some(self.idle.remove(at).1));
        }
        if self.workers() >= self.most {
            // All idle workers served other uses, so the longest idle one is ended.
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

    type TestQueue = WorkerQueue<&'static str, u32>;

    fn tenant(name: &str) -> WorkerUse {
        WorkerUse::Programs(name.parse().unwrap())
    }

    /// Queues a run for each name in order, and returns whose runs are admitted.
    fn admitted(queue: &mut TestQueue, names: &[&str]) -> Vec<String> {
        for (ticket, name) in (0..).zip(names) {
            queue.push(tenant(name), ticket);
        }
        std::iter::from_fn(|| queue.admit())
            .map(|admission| describe_admission(&admission))
            .collect()
    }

    fn describe_admission(admission: &Admission<&'static str, u32>) -> String {
        let WorkerUse::Programs(name) = &admission.serves else {
            panic!("a check")
        };
        format!("{name} {}", admission.worker.unwrap_or("new"))
    }

    #[test]
    fn tenants_that_wait_take_turns() {
        let mut queue = WorkerQueue::new(0, 4);
        assert_eq!(
            admitted(&mut queue, &["a", "a", "a", "b", "c"]),
            ["a new", "b new", "c new", "a new"]
        );
    }

    #[test]
    fn a_tenant_with_fewer_runs_goes_first_and_so_keeps_its_worker() {
        let mut queue = WorkerQueue::new(2, 3);
        assert_eq!(admitted(&mut queue, &["a", "b"]), ["a new", "b new"]);
        queue.keep_worker(tenant("b"), "used");
        queue.finish_run(&tenant("b"));
        assert_eq!(admitted(&mut queue, &["a", "b"]), ["b used", "a new"]);
    }

    #[test]
    fn the_last_slot_is_left_to_another_tenant() {
        let mut queue = WorkerQueue::new(0, 3);
        assert_eq!(admitted(&mut queue, &["a", "a", "a"]), ["a new", "a new"]);
        assert_eq!(admitted(&mut queue, &["b"]), ["b new"]);
    }

    #[test]
    fn a_sandbox_with_one_slot_serves_a_single_tenant() {
        let mut queue = WorkerQueue::new(0, 1);
        assert_eq!(admitted(&mut queue, &["a", "a"]), ["a new"]);
        queue.finish_run(&tenant("a"));
        assert_eq!(admitted(&mut queue, &[]), ["a new"]);
    }

    #[test]
    fn a_worker_serves_only_the_tenant_it_has_served() {
        let mut queue = WorkerQueue::new(1, 2);
        queue.keep_worker(tenant("a"), "used");
        assert_eq!(admitted(&mut queue, &["b", "a"]), ["b new", "a used"]);
    }

    #[test]
    fn an_idle_worker_of_another_tenant_makes_room() {
        let mut queue = WorkerQueue::new(1, 1);
        queue.keep_worker(tenant("a"), "used");
        assert_eq!(admitted(&mut queue, &["b"]), ["b new"]);
        assert!(queue.idle.is_empty());
    }

    #[test]
    fn a_fresh_worker_is_taken_before_one_is_started() {
        let mut queue = WorkerQueue::new(1, 2);
        assert!(queue.wants_warm() && !queue.wants_warm());
        queue.add_warm_worker(Some("fresh"));
        assert_eq!(admitted(&mut queue, &["a"]), ["a fresh"]);
    }

    #[test]
    fn surplus_idle_workers_are_ended() {
        let mut queue: TestQueue = WorkerQueue::new(1, 4);
        queue.keep_worker(tenant("a"), "older");
        queue.keep_worker(tenant("b"), "newer");
        assert_eq!(queue.surplus(), ["older"]);
    }

    #[test]
    fn a_cancelled_run_leaves_the_queue() {
        let mut queue = WorkerQueue::new(0, 1);
        queue.push(tenant("a"), 7);
        queue.forget(|ticket| *ticket == 7);
        assert_eq!(admitted(&mut queue, &["b"]), ["b new"]);
    }
}
