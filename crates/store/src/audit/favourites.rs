//! The tools that a caller uses most, from the rows of its calls.

use kitbag_domain::{Caller, Capability, Timestamp};

use super::{postgres, sqlite};
use crate::engine::statement;
use crate::{Error, Store, unreadable};

impl Store {
    /// Returns the tools that this caller called with success since then, the most used first.
    pub async fn favourites(
        &self,
        caller: &Caller,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<Capability>, Error> {
        let rows = statement!(&self.engine, most_used(caller, since, limit))?;
        let tools = rows.into_iter().map(|(server, name)| tool(server, name));
        tools.collect()
    }
}

pub(super) fn tool(server: String, name: String) -> Result<Capability, Error> {
    match server.parse() {
        Ok(server) => Ok(Capability::tool(server, name)),
        Err(_) => Err(unreadable("server name", server)),
    }
}

#[cfg(test)]
mod tests {
    use kitbag_domain::{Observation, Outcome, Purpose};

    use super::*;
    use crate::audit::tests::{records, seen};
    use crate::test_place::{TestPlace, each_engine};

    each_engine!(the_most_used_tools_come_first_and_only_calls_of_the_caller_count,);

    async fn the_most_used_tools_come_first_and_only_calls_of_the_caller_count(place: TestPlace) {
        let store = place.open().await;
        let mut rows = vec![
            seen(1, "acme", "git/old"),
            seen(10, "acme", "git/log"),
            seen(11, "acme", "git/diff"),
            seen(12, "acme", "git/diff"),
            seen(13, "globex", "mail/send"),
        ];
        let failed = Observation {
            outcome: Outcome::ToolError,
            ..seen(14, "acme", "git/push")
        };
        rows.push(failed);
        let measured = Observation {
            purpose: Purpose::Measurement,
            ..seen(15, "acme", "git/blame")
        };
        rows.extend([measured.clone(), measured]);
        store.record(&records(rows)).await.unwrap();
        let acme = Caller {
            tenant: "acme".parse().unwrap(),
            ..Caller::local()
        };
        let found = store.favourites(&acme, Timestamp(5), 20).await.unwrap();
        let names: Vec<_> = found.into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["diff", "log"]);
    }
}
