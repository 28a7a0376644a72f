//! Which server a task was begun on, and for whom.
//!
//! Task ids are the servers' own; they are remembered here so that `tasks/get` finds its
//! way, and so that one tenant cannot ask for another's.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use kitbag_domain::{Capability, Tenant};
use kitbag_wire::{Raw, RawObject};

use crate::sync::lock;

/// Tasks beyond this many are forgotten, oldest first.
const REMEMBERED: usize = 10_000;

#[derive(Default)]
pub(crate) struct Tasks {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    owners: HashMap<(Tenant, String), Capability>,
    order: VecDeque<(Tenant, String)>,
}

impl Tasks {
    /// Remembers the task a result tells of, if it tells of one.
    pub(crate) fn learn(&self, tenant: &Tenant, capability: &Capability, result: &Raw) {
        if !result.get().contains("\"taskId\"") {
            return;
        }
        let Ok(result) = RawObject::open(result) else { return };
        let legacy = result.object("task").and_then(|task| task.read::<String>("taskId"));
        let Some(id) = legacy.or_else(|| result.read("taskId")) else { return };
        let key = (tenant.clone(), id);
        let mut known = lock(&self.known);
        if known.owners.insert(key.clone(), capability.clone()).is_none() {
            known.order.push_back(key);
        }
        if known.order.len() > REMEMBERED
            && let Some(oldest) = known.order.pop_front()
        {
            known.owners.remove(&oldest);
        }
    }

    pub(crate) fn owner(&self, tenant: &Tenant, id: &str) -> Option<Capability> {
        lock(&self.known).owners.get(&(tenant.clone(), id.to_owned())).cloned()
    }
}
