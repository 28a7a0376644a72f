//! Maps tasks to the server and the tenant for which they were created.
//!
//! Task ids are chosen by the servers, so ids of two servers may be equal. Where servers are
//! merged, an id that the tenant already has from another server is prefixed with its server. The
//! map lets `tasks/get` reach the right server, and prevents one tenant from querying the task of
//! another.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use kitbag_domain::{Capability, ServerName, Tenant};
use kitbag_wire::{Raw, RawObject};

use kitbag_domain::fairness::largest_holder;
use kitbag_domain::sync::lock;

/// Above this many tasks, the oldest of the tenant with the most is forgotten.
const MAX_TASKS: usize = 10_000;
/// Above this many tasks of one tenant, that tenant's oldest is forgotten.
const MAX_TASKS_EACH: usize = 2_000;
/// Longer ids are not stored: many of them would exhaust the memory.
const LONGEST_ID: usize = 1_000;

#[derive(Default)]
pub(crate) struct Tasks {
    known: Mutex<KnownTasks>,
}

#[derive(Default)]
struct KnownTasks {
    tasks: HashMap<TaskKey, RememberedTask>,
    by_exposed: HashMap<(Tenant, String), TaskKey>,
    /// Oldest first, per tenant.
    order: HashMap<Tenant, VecDeque<TaskKey>>,
}

/// A tenant's task by its server's own id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct TaskKey {
    tenant: Tenant,
    server: ServerName,
    id: String,
}

struct RememberedTask {
    /// The tool that created the task.
    capability: Capability,
    exposed: String,
}

impl Tasks {
    /// Stores the task that a result mentions, if any. Returns the result as shown where servers
    /// are merged.
    pub(crate) fn remember_task(
        &self,
        tenant: &Tenant,
        capability: &Capability,
        result: &Raw,
    ) -> Option<Raw> {
        if !result.get().contains("\"taskId\"") {
            return None;
        }
        let mut object = RawObject::open(result).ok()?;
        let mut task = object.get_object("task");
        let id: String = task.as_ref().unwrap_or(&object).read("taskId")?;
        if id.len() > LONGEST_ID {
            return None;
        }
        let own = TaskKey {
            tenant: tenant.clone(),
            server: capability.server.clone(),
            id: id.clone(),
        };
        let exposed = lock(&self.known).add_task(own, capability);
        if exposed == id {
            return Some(result.clone());
        }
        match &mut task {
            Some(task) => {
                task.put("taskId", &exposed);
                object.put("task", task);
            }
            None => object.put("taskId", &exposed),
        }
        Some(object.to_raw())
    }

    /// Returns the capability that created a task, by its server's own id.
    pub(crate) fn find_by_server_id(
        &self,
        tenant: &Tenant,
        server: &ServerName,
        id: &str,
    ) -> Option<Capability> {
        let own = TaskKey {
            tenant: tenant.clone(),
            server: server.clone(),
            id: id.to_owned(),
        };
        lock(&self.known)
            .tasks
            .get(&own)
            .map(|task| task.capability.clone())
    }

    /// Returns the capability that created a task and the server's own id of the task, by the id
    /// shown where servers are merged.
    pub(crate) fn find_by_exposed_id(
        &self,
        tenant: &Tenant,
        exposed: &str,
    ) -> Option<(Capability, String)> {
        let known = lock(&self.known);
        let own = known
            .by_exposed
            .get(&(tenant.clone(), exposed.to_owned()))?;
        Some((known.tasks.get(own)?.capability.clone(), own.id.clone()))
    }
}

impl KnownTasks {
    /// Adds a task and returns its id for merged surfaces.
    fn add_task(&mut self, own: TaskKey, capability: &Capability) -> String {
        if let Some(task) = self.tasks.get(&own) {
            return task.exposed.clone();
        }
        let mut exposed = own.id.clone();
        while self
            .by_exposed
            .contains_key(&(own.tenant.clone(), exposed.clone()))
        {
            exposed = format!("{}__{exposed}", own.server);
        }
        let task = RememberedTask {
            capability: capability.clone(),
            exposed: exposed.clone(),
        };
        self.by_exposed
            .insert((own.tenant.clone(), exposed.clone()), own.clone());
        self.tasks.insert(own.clone(), task);
        let tenant = own.tenant.clone();
        self.order.entry(tenant.clone()).or_default().push_back(own);
        self.forget_oldest(&tenant);
        exposed
    }

    fn forget_oldest(&mut self, latest: &Tenant) {
        let tasks_of_latest = self.order.get(latest).map_or(0, VecDeque::len);
        let holder = if tasks_of_latest > MAX_TASKS_EACH {
            Some(latest.clone())
        } else if self.tasks.len() > MAX_TASKS {
            largest_holder(
                self.order
                    .iter()
                    .map(|(tenant, tasks)| (tenant, tasks.len())),
            )
            .cloned()
        } else {
            None
        };
        if let Some(holder) = holder
            && let Some(oldest) = self.order.get_mut(&holder).and_then(VecDeque::pop_front)
            && let Some(task) = self.tasks.remove(&oldest)
        {
            self.by_exposed.remove(&(oldest.tenant, task.exposed));
        }
    }
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::json;

    use super::*;

    #[test]
    fn tasks_with_the_same_id_on_two_servers_stay_two_tasks() {
        let tasks = Tasks::default();
        let tenant: Tenant = "acme".parse().unwrap();
        let learn = |server: &str| {
            let tool = Capability::tool(server.parse().unwrap(), server);
            let modern =
                raw(&json!({ "resultType": "task", "taskId": "task-1", "status": "working" }));
            tasks
                .remember_task(&tenant, &tool, &modern)
                .unwrap()
                .get()
                .to_owned()
        };
        assert_eq!(
            learn("a"),
            r#"{"resultType":"task","taskId":"task-1","status":"working"}"#
        );
        assert_eq!(
            learn("b"),
            r#"{"resultType":"task","taskId":"b__task-1","status":"working"}"#
        );
        assert_eq!(
            learn("a"),
            r#"{"resultType":"task","taskId":"task-1","status":"working"}"#
        );
        let resolve = |exposed: &str| {
            tasks
                .find_by_exposed_id(&tenant, exposed)
                .map(|(tool, id)| (tool.name, id))
        };
        assert_eq!(
            resolve("task-1"),
            Some(("a".to_owned(), "task-1".to_owned()))
        );
        assert_eq!(
            resolve("b__task-1"),
            Some(("b".to_owned(), "task-1".to_owned()))
        );
        assert!(
            tasks
                .find_by_server_id(&tenant, &"b".parse().unwrap(), "task-1")
                .is_some()
        );
        assert!(
            tasks
                .find_by_server_id(&tenant, &"c".parse().unwrap(), "task-1")
                .is_none()
        );
        assert!(
            tasks
                .find_by_exposed_id(&"globex".parse().unwrap(), "task-1")
                .is_none()
        );
    }

    #[test]
    fn a_tenant_with_too_many_tasks_loses_its_own() {
        let tasks = Tasks::default();
        let tool = Capability::tool("a".parse().unwrap(), "t");
        let (high, low): (Tenant, Tenant) = ("high".parse().unwrap(), "low".parse().unwrap());
        let begin = |tenant: &Tenant, id: usize| {
            tasks
                .remember_task(tenant, &tool, &raw(&json!({ "taskId": id.to_string() })))
                .unwrap();
        };
        begin(&high, 0);
        (0..MAX_TASKS + 1).for_each(|id| begin(&low, id));
        assert!(tasks.find_by_exposed_id(&high, "0").is_some());
        assert!(tasks.find_by_exposed_id(&low, "0").is_none());
        assert!(
            tasks
                .find_by_exposed_id(&low, &MAX_TASKS.to_string())
                .is_some()
        );
        assert_eq!(lock(&tasks.known).tasks.len(), MAX_TASKS_EACH + 1);
    }

    #[test]
    fn a_legacy_result_nests_its_task() {
        let tasks = Tasks::default();
        let tool = Capability::tool("a".parse().unwrap(), "t");
        let result = raw(&json!({ "task": { "taskId": "x" } }));
        assert_eq!(
            tasks
                .remember_task(&Tenant::local(), &tool, &result)
                .unwrap()
                .get(),
            result.get()
        );
        assert!(tasks.find_by_exposed_id(&Tenant::local(), "x").is_some());
        assert!(
            tasks
                .remember_task(&Tenant::local(), &tool, &raw(&json!({ "content": [] })))
                .is_none()
        );
    }
}
