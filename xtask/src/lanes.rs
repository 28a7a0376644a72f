//! Does several jobs at a time and tells of them in the order they were given.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

/// Works on `jobs` in as many lanes; `tell` hears each outcome as soon as all before it are told.
pub(crate) fn in_order<Job: Sync, Outcome: Send>(
    lanes: usize,
    jobs: &[Job],
    work: impl Fn(&Job) -> Outcome + Sync,
    mut tell: impl FnMut(Outcome),
) {
    let next = AtomicUsize::new(0);
    let (sender, outcomes) = channel();
    thread::scope(|scope| {
        for _ in 0..lanes.min(jobs.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(place) else { return };
                    let _ = sender.send((place, work(job)));
                }
            });
        }
        drop(sender);
        let (mut told, mut early) = (0, BTreeMap::new());
        for (place, outcome) in outcomes {
            early.insert(place, outcome);
            while let Some(outcome) = early.remove(&told) {
                tell(outcome);
                told += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use super::in_order;

    #[test]
    fn a_job_that_is_done_early_is_told_of_in_its_turn() {
        let (sender, last_is_done) = channel();
        let last_is_done = Mutex::new(last_is_done);
        let work = |job: &u32| {
            match job {
                0 => last_is_done.lock().unwrap().recv().unwrap(),
                2 => sender.send(()).unwrap(),
                _ => {}
            }
            *job
        };
        let mut told = Vec::new();
        in_order(2, &[0, 1, 2], work, |job| told.push(job));
        assert_eq!(told, [0, 1, 2]);
    }
}
