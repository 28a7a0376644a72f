//! Reads the audit: filtered, page by page, or as it grows.

use kitbag_domain::{KeyId, Outcome, ServerName, Tenant, Timestamp};

use super::row::{AuditRow, AuditRowKind, StoredAuditRow};
use super::selection::{SELECT, select_by_query};
use crate::{Error, Store};

/// Asks for the newest `limit` rows that match every condition.
#[derive(Debug, Clone)]
pub struct AuditQuery {
    pub limit: u32,
    pub tenant: Option<Tenant>,
    /// The client's own name, in full.
    pub client: Option<String>,
    pub server: Option<ServerName>,
    pub key: Option<KeyId>,
    /// The id of a run of code.
    pub run: Option<String>,
    /// A glob for the name, for `server/name` or for `server__name`.
    pub name: Option<String>,
    /// Any of these outcomes; all, if it is empty.
    pub outcomes: Vec<Outcome>,
    /// Any of these kinds; calls as well as events, if it is empty.
    pub kinds: Vec<AuditRowKind>,
    pub since: Option<Timestamp>,
    /// Rows before this time, exclusive.
    pub until: Option<Timestamp>,
    pub page: AuditPage,
}

/// Selects a part of all matching rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditPage {
    /// Newest first.
    Newest,
    /// Rows older than one that was read before, newest first.
    OlderThan { at: Timestamp, id: i64 },
    /// Rows written after another one, in the order of writing.
    WrittenAfter { id: i64 },
}

impl AuditQuery {
    pub const fn newest(limit: u32) -> Self {
        Self {
            limit,
            tenant: None,
            client: None,
            server: None,
            key: None,
            run: None,
            name: None,
            outcomes: Vec::new(),
            kinds: Vec::new(),
            since: None,
            until: None,
            page: AuditPage::Newest,
        }
    }
}

const READ: &str = "read the audit";

impl Store {
    pub async fn read_audit(&self, query: &AuditQuery) -> Result<Vec<AuditRow>, Error> {
        let rows = select_by_query(&self.engine, query).fetch_all(READ).await?;
        rows.into_iter().map(StoredAuditRow::read).collect()
    }

    /// Returns the rows that still exist, in their current state.
    pub async fn read_audit_rows(&self, ids: &[i64]) -> Result<Vec<AuditRow>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let select = self.engine.query(SELECT).push(" AND id IN ");
        let select = select.push_list(ids.iter().copied()).push(" ORDER BY id");
        let rows = select.fetch_all(READ).await?;
        rows.into_iter().map(StoredAuditRow::read).collect()
    }

    /// Returns the id of the last row, or zero.
    pub async fn newest_audit_row_id(&self) -> Result<i64, Error> {
        let select = self.engine.query("SELECT max(id) FROM audit");
        let newest: Option<i64> = select.fetch_scalar("find the last audit row").await?;
        Ok(newest.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kitbag_domain::{
        Action, CallCost, Event, Inquiry, InquiryKind, Kind, NanoUsd, Observation, Origin, Purpose,
        RecordedArguments, ShortText,
    };

    use super::*;
    use crate::audit::tests::{EVERYTHING, new_observation, records};
    use crate::test_store::{TestPlace, each_engine};
    use crate::{AuditRecord, AuditRowContent};

    each_engine!(
        every_field_of_a_call_survives_a_restart,
        every_field_of_an_event_is_stored,
        every_field_of_an_inquiry_is_stored_and_it_is_found_by_its_kind,
        the_newest_rows_come_first_and_a_query_narrows_them,
        pages_are_consecutive_and_later_rows_are_found,
    );

    /// Checks the names of the matching rows, in order.
    async fn check(store: &Store, query: AuditQuery, expected: &str) {
        let rows = store.read_audit(&query).await.unwrap();
        let name = |row: AuditRow| match row.content {
            AuditRowContent::Call { capability, .. } => capability.name,
            AuditRowContent::Inquiry { subject, .. } | AuditRowContent::Event { subject, .. } => {
                subject
            }
        };
        assert_eq!(
            rows.into_iter().map(name).collect::<Vec<_>>().join(" "),
            expected,
            "{query:?}"
        );
    }

    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn origin() -> Origin {
        Origin {
            request: Some(ShortText::truncate("0011aabb")),
            run: Some(ShortText::truncate("77ff00ee")),
            address: "192.0.2.7".parse().ok(),
            trace: TRACE.parse().ok(),
        }
    }

    async fn every_field_of_a_call_survives_a_restart(place: TestPlace) {
        let store = place.open().await;
        let expected: Vec<Observation> = Outcome::ALL
            .into_iter()
            .zip(Kind::ALL.into_iter().cycle())
            .enumerate()
            .map(|(number, (outcome, kind))| {
                let mut call = new_observation(number as i64, "acme", "git/log");
                (call.outcome, call.capability.kind) = (outcome, kind);
                call.client = (number % 2 == 0)
                    .then(|| ShortText::truncate("Claude '\"; DROP TABLE audit; --"));
                call.caller.key = (number % 3 == 0).then(|| KeyId("0123abcd".to_owned()));
                call.origin = if number % 2 == 1 {
                    origin()
                } else {
                    Origin::default()
                };
                call.purpose = Purpose::ALL[number % 2];
                call.cost = CallCost {
                    tokens: (number % 2 == 0).then_some(350),
                    price: (number % 3 == 0).then_some(NanoUsd(200_000)),
                };
                call.arguments =
                    (number % 2 == 1).then(|| RecordedArguments::truncate("{\"a\":1}"));
                call
            })
            .collect();
        store.record_all(&records(expected.clone())).await.unwrap();
        store.close().await;

        let store = place.open().await;
        let rows = store.read_audit(&EVERYTHING).await.unwrap();
        assert_eq!(rows.len(), expected.len());
        for (row, seen) in rows.into_iter().zip(expected.into_iter().rev()) {
            let Origin {
                request,
                run,
                address,
                trace,
            } = &seen.origin;
            assert_eq!(
                (row.at, row.outcome, row.key),
                (seen.at, seen.outcome, seen.caller.key)
            );
            assert_eq!(row.tenant, Some(seen.caller.tenant));
            assert_eq!(row.cost, seen.cost);
            assert_eq!(row.arguments, seen.arguments.map(|it| it.to_string()));
            assert_eq!(
                row.client.as_deref(),
                seen.client.as_ref().map(ShortText::as_str)
            );
            assert_eq!(
                row.request.as_deref(),
                request.as_ref().map(ShortText::as_str)
            );
            assert_eq!(row.run.as_deref(), run.as_ref().map(ShortText::as_str));
            assert_eq!(row.address, address.map(|it| it.to_string()));
            assert_eq!(row.trace, trace.map(|it| it.trace_id()));
            let Observation {
                capability,
                latency,
                purpose,
                ..
            } = seen;
            assert_eq!(
                row.content,
                AuditRowContent::Call {
                    capability,
                    latency,
                    purpose
                }
            );
        }
    }

    async fn every_field_of_an_inquiry_is_stored_and_it_is_found_by_its_kind(place: TestPlace) {
        let store = place.open().await;
        let inquiry = |kind| Inquiry {
            at: Timestamp(1),
            kind,
            caller: new_observation(1, "acme", "git/log").caller,
            client: Some(ShortText::truncate("claude")),
            origin: origin(),
            purpose: Purpose::Measurement,
            subject: ShortText::truncate(kind.as_str()),
            outcome: Outcome::Ok,
            latency: Duration::from_micros(5),
            cost: CallCost {
                tokens: Some(90),
                price: None,
            },
            arguments: Some(RecordedArguments::truncate("{\"query\":\"x\"}")),
            detail: Some(ShortText::truncate("5 found")),
        };
        let all = InquiryKind::ALL.map(|kind| AuditRecord::from(inquiry(kind)));
        store.record_all(&all).await.unwrap();
        for kind in InquiryKind::ALL {
            let mut query = EVERYTHING;
            query.kinds.push(AuditRowKind::Inquiry(kind));
            let rows = store.read_audit(&query).await.unwrap();
            let [row] = rows.as_slice() else {
                panic!("{rows:?}")
            };
            let content = AuditRowContent::Inquiry {
                kind,
                subject: kind.as_str().to_owned(),
                latency: Duration::from_micros(5),
                purpose: Purpose::Measurement,
                detail: Some("5 found".to_owned()),
            };
            assert_eq!((&row.content, row.cost.tokens), (&content, Some(90)));
            assert_eq!(row.arguments.as_deref(), Some("{\"query\":\"x\"}"));
        }
    }

    async fn every_field_of_an_event_is_stored(place: TestPlace) {
        let store = place.open().await;
        let event = |action| Event {
            tenant: "acme".parse().ok(),
            key: Some(KeyId("0123abcd".to_owned())),
            actor: Some(ShortText::truncate("ann")),
            client: Some(ShortText::truncate("kitbag key create")),
            detail: Some(ShortText::truncate("more of it")),
            origin: origin(),
            ..Event::new(Timestamp(1), action, "what it was about")
        };
        store
            .record_all(&Action::ALL.map(|action| event(action).into()))
            .await
            .unwrap();
        let rows = store.read_audit(&EVERYTHING).await.unwrap();
        for (row, action) in rows.into_iter().zip(Action::ALL.into_iter().rev()) {
            let subject = "what it was about".to_owned();
            assert_eq!(
                row.content,
                AuditRowContent::Event {
                    action,
                    subject,
                    detail: Some("more of it".to_owned())
                }
            );
            assert_eq!(
                (row.actor.as_deref(), row.client.as_deref()),
                (Some("ann"), Some("kitbag key create"))
            );
            assert_eq!(
                (row.tenant.unwrap().as_str(), row.key.unwrap().0.as_str()),
                ("acme", "0123abcd")
            );
            assert_eq!(row.address.as_deref(), Some("192.0.2.7"));
        }
        store
            .record_all(&[Event::new(Timestamp(2), Action::SecretSet, "token").into()])
            .await
            .unwrap();
        let rows = store.read_audit(&AuditQuery::newest(1)).await.unwrap();
        assert_eq!((&rows[0].tenant, &rows[0].address), (&None, &None));
    }

    async fn the_newest_rows_come_first_and_a_query_narrows_them(place: TestPlace) {
        let store = place.open().await;
        let mut rows = records([
            new_observation(3, "acme", "git/c"),
            new_observation(1, "acme", "git/a"),
            new_observation(2, "acme", "mail/b"),
            new_observation(3, "local", "git/d"),
        ]);
        let AuditRecord::Call(last) = &mut rows[3] else {
            panic!("a call")
        };
        (last.outcome, last.caller.key) = (Outcome::TimedOut, Some(KeyId("77".to_owned())));
        last.origin.run = Some(ShortText::truncate("5ea7"));
        let AuditRecord::Call(third) = &mut rows[2] else {
            panic!("a call")
        };
        third.client = Some(ShortText::truncate("cursor"));
        rows.push(Event::new(Timestamp(4), Action::SecretSet, "token").into());
        store.record_all(&rows).await.unwrap();
        let everything = || EVERYTHING;
        let acme = "acme".parse::<Tenant>().ok();
        let git = "git".parse::<ServerName>().ok();
        let named = |glob: &str| AuditQuery {
            name: Some(glob.to_owned()),
            ..everything()
        };
        check(&store, everything(), "token d c b a").await;
        check(&store, AuditQuery::newest(2), "token d").await;
        check(
            &store,
            AuditQuery {
                tenant: acme.clone(),
                ..everything()
            },
            "c b a",
        )
        .await;
        check(
            &store,
            AuditQuery {
                server: git.clone(),
                ..everything()
            },
            "d c a",
        )
        .await;
        check(
            &store,
            AuditQuery {
                limit: 1,
                tenant: acme,
                server: git,
                ..everything()
            },
            "c",
        )
        .await;
        check(
            &store,
            AuditQuery {
                key: Some(KeyId("77".to_owned())),
                ..everything()
            },
            "d",
        )
        .await;
        check(
            &store,
            AuditQuery {
                client: Some("cursor".to_owned()),
                ..everything()
            },
            "b",
        )
        .await;
        check(
            &store,
            AuditQuery {
                run: Some("5ea7".to_owned()),
                ..everything()
            },
            "d",
        )
        .await;
        check(
            &store,
            AuditQuery {
                outcomes: vec![Outcome::TimedOut],
                ..everything()
            },
            "d",
        )
        .await;
        check(
            &store,
            AuditQuery {
                kinds: vec![AuditRowKind::Call],
                ..everything()
            },
            "d c b a",
        )
        .await;
        let secrets = vec![
            AuditRowKind::Event(Action::SecretSet),
            AuditRowKind::Event(Action::SecretRemoved),
        ];
        check(
            &store,
            AuditQuery {
                kinds: secrets,
                ..everything()
            },
            "token",
        )
        .await;
        let (since, until) = (Some(Timestamp(2)), Some(Timestamp(4)));
        check(
            &store,
            AuditQuery {
                since,
                until,
                ..everything()
            },
            "d c b",
        )
        .await;
        check(&store, named("[cd]"), "d c").await;
        check(&store, named("c"), "c").await;
        check(&store, named("git__c"), "c").await;
        check(&store, named("mail/b"), "b").await;
        check(&store, named("mail__*"), "b").await;
        check(&store, named("git/?"), "d c a").await;
        check(&store, named("[^cd]"), "b a").await;
        check(&store, named("[a-b]"), "b a").await;
        check(&store, named("[]d]"), "d").await;
        check(&store, named("[d-a]"), "d").await;
        check(&store, named("*/[b]"), "b").await;
        for nothing in ["' OR TRUE --", "[", "[c", "git.d", "git__\\", "(", "D"] {
            check(&store, named(nothing), "").await;
        }
    }

    async fn pages_are_consecutive_and_later_rows_are_found(place: TestPlace) {
        let store = place.open().await;
        store
            .record_all(&records(
                (0..5).map(|at| new_observation(at / 2, "acme", &format!("git/{at}"))),
            ))
            .await
            .unwrap();
        let (mut query, mut pages) = (AuditQuery::newest(2), Vec::new());
        loop {
            let rows = store.read_audit(&query).await.unwrap();
            let Some(last) = rows.last() else { break };
            query.page = AuditPage::OlderThan {
                at: last.at,
                id: last.id,
            };
            pages.extend(
                rows.iter()
                    .map(|row| row.capability().unwrap().name.clone()),
            );
        }
        assert_eq!(pages.join(" "), "4 3 2 1 0");

        let id = store.newest_audit_row_id().await.unwrap();
        // The clock may go back; the order of writing decides which rows are new.
        store
            .record_all(&records([
                new_observation(0, "acme", "git/late"),
                new_observation(9, "acme", "git/later"),
            ]))
            .await
            .unwrap();
        let newer = AuditQuery {
            page: AuditPage::WrittenAfter { id },
            ..EVERYTHING
        };
        check(&store, newer, "late later").await;
    }
}
