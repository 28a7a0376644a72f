//! Reports of agents to the operators: missing features, and their resolution.
//!
//! Kinds and severities are interpreted only by writers and readers. The caller passes a tenant's
//! limits.

use kitbag_domain::{KeyId, ShortText, Tenant, Timestamp};

use crate::engine::row_struct::row_struct;
use crate::{Error, Store, skip_unreadable, unreadable_error};

/// A report to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFeedback {
    pub tenant: Tenant,
    /// The key of the caller; `None` for the user at this machine.
    pub key: Option<KeyId>,
    pub client: Option<ShortText>,
    pub at: Timestamp,
    pub kind: String,
    pub severity: Option<String>,
    /// The tool the report is about.
    pub tool: Option<ShortText>,
    pub summary: String,
    pub details: Option<String>,
}

/// A stored report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFeedback {
    pub id: i64,
    pub feedback: NewFeedback,
    /// `None` while it is open.
    pub resolved: Option<FeedbackResolution>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackResolution {
    pub at: Timestamp,
    pub note: Option<String>,
}

/// Asks for the newest `limit` reports that match every condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedbackQuery {
    pub limit: u32,
    pub tenant: Option<Tenant>,
    pub kind: Option<String>,
    /// True for open reports, false for resolved ones.
    pub open: Option<bool>,
    /// Reports before this one.
    pub before_id: Option<i64>,
}

/// The limits of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedbackLimits {
    /// Further reports are rejected.
    pub open: i64,
    /// Older resolved reports are removed.
    pub resolved: i64,
}

const READ: &str = "read feedback";
const WRITE: &str = "store feedback";

impl Store {
    /// Stores a report and returns its number; `None` if the tenant has too many open ones.
    pub async fn add_feedback(
        &self,
        feedback: &NewFeedback,
        limits: FeedbackLimits,
    ) -> Result<Option<i64>, Error> {
        let mut transaction = self.engine.begin(WRITE).await?;
        let open: i64 = transaction
            .query("SELECT count(*) FROM agent_feedback WHERE tenant = $1 AND resolved_at IS NULL")
            .bind(feedback.tenant.as_str())
            .fetch_scalar(READ)
            .await?;
        if open >= limits.open {
            return Ok(None);
        }
        let id = transaction
            .query(
                "INSERT INTO agent_feedback (tenant, key_id, client, at, kind, severity, tool, summary, details)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
            )
            .bind(feedback.tenant.as_str())
            .bind(feedback.key.as_ref().map(|key| key.0.as_str()))
            .bind(feedback.client.as_deref())
            .bind(feedback.at.0)
            .bind(&feedback.kind)
            .bind(feedback.severity.as_deref())
            .bind(feedback.tool.as_deref())
            .bind(&feedback.summary)
            .bind(feedback.details.as_deref())
            .fetch_scalar(WRITE)
            .await?;
        transaction
            .query(
                "DELETE FROM agent_feedback WHERE tenant = $1 AND resolved_at IS NOT NULL AND id <= (
                     SELECT id FROM agent_feedback WHERE tenant = $1 AND resolved_at IS NOT NULL
                     ORDER BY id DESC LIMIT 1 OFFSET $2)",
            )
            .bind(feedback.tenant.as_str())
            .bind(limits.resolved)
            .execute(WRITE)
            .await?;
        transaction.commit(WRITE).await?;
        Ok(Some(id))
    }

    /// Returns reports, newest first.
    pub async fn list_feedback(&self, query: &FeedbackQuery) -> Result<Vec<StoredFeedback>, Error> {
        let rows = self
            .engine
            .query("SELECT ")
            .push(COLUMNS)
            .push(" FROM agent_feedback WHERE TRUE")
            .push_filter(" AND tenant = ", query.tenant.as_ref().map(Tenant::as_str))
            .push_filter(" AND kind = ", query.kind.as_deref())
            .push_filter(" AND (resolved_at IS NULL) = ", query.open)
            .push_filter(" AND id < ", query.before_id)
            .push_bind(" ORDER BY id DESC LIMIT ", i64::from(query.limit))
            .fetch_all(READ)
            .await?;
        Ok(skip_unreadable(rows, read_feedback))
    }

    pub async fn feedback_by_id(&self, id: i64) -> Result<Option<StoredFeedback>, Error> {
        let row = self
            .engine
            .query("SELECT ")
            .push(COLUMNS)
            .push_bind(" FROM agent_feedback WHERE id = ", id)
            .fetch_optional(READ)
            .await?;
        row.map(read_feedback).transpose()
    }

    /// Marks an open report as resolved. Returns false if there is no open report with this number.
    pub async fn resolve_feedback(
        &self,
        id: i64,
        resolution: &FeedbackResolution,
    ) -> Result<bool, Error> {
        self.engine
            .query(
                "UPDATE agent_feedback SET resolved_at = $1, resolution = $2
                 WHERE id = $3 AND resolved_at IS NULL",
            )
            .bind(resolution.at.0)
            .bind(resolution.note.as_deref())
            .bind(id)
            .execute_on_row("resolve feedback")
            .await
    }
}

/// The columns of a row, in the order of [`FeedbackRow`].
const COLUMNS: &str = "id, tenant, key_id, client, at, kind, severity, tool, summary, details, resolved_at, resolution";

row_struct! {
    struct FeedbackRow {
        id: i64,
        tenant: String,
        key_id: Option<String>,
        client: Option<String>,
        at: i64,
        kind: String,
        severity: Option<String>,
        tool: Option<String>,
        summary: String,
        details: Option<String>,
        resolved_at: Option<i64>,
        resolution: Option<String>,
    }
}

fn read_feedback(row: FeedbackRow) -> Result<StoredFeedback, Error> {
    let tenant = row.tenant.parse();
    Ok(StoredFeedback {
        id: row.id,
        feedback: NewFeedback {
            tenant: tenant.map_err(|_| unreadable_error("tenant", row.tenant))?,
            key: row.key_id.map(KeyId),
            client: row.client.as_deref().map(ShortText::truncate),
            at: Timestamp(row.at),
            kind: row.kind,
            severity: row.severity,
            tool: row.tool.as_deref().map(ShortText::truncate),
            summary: row.summary,
            details: row.details,
        },
        resolved: row.resolved_at.map(|at| FeedbackResolution {
            at: Timestamp(at),
            note: row.resolution,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(
        reports_are_listed_newest_first_and_filtered,
        a_tenant_with_too_many_open_reports_waits_until_some_are_resolved,
    );

    const LIMITS: FeedbackLimits = FeedbackLimits {
        open: 2,
        resolved: 1,
    };

    fn report(tenant: &str, kind: &str) -> NewFeedback {
        NewFeedback {
            tenant: tenant.parse().unwrap(),
            key: Some(KeyId("k1".to_owned())),
            client: Some(ShortText::truncate("claude")),
            at: Timestamp(5),
            kind: kind.to_owned(),
            severity: Some("high".to_owned()),
            tool: Some(ShortText::truncate("git__log")),
            summary: "ünï '; --".to_owned(),
            details: (kind == "bug").then(|| "more".to_owned()),
        }
    }

    async fn ids(store: &Store, query: FeedbackQuery) -> Vec<i64> {
        let found = store.list_feedback(&query).await.unwrap();
        found.iter().map(|it| it.id).collect()
    }

    async fn reports_are_listed_newest_first_and_filtered(place: TestPlace) {
        let store = place.open().await;
        for (tenant, kind) in [("acme", "bug"), ("acme", "idea"), ("globex", "bug")] {
            let kept = store.add_feedback(&report(tenant, kind), LIMITS).await;
            assert!(kept.unwrap().is_some());
        }
        let resolution = FeedbackResolution {
            at: Timestamp(9),
            note: Some("built".to_owned()),
        };
        assert!(store.resolve_feedback(1, &resolution).await.unwrap());
        assert!(!store.resolve_feedback(1, &resolution).await.unwrap());
        assert!(!store.resolve_feedback(77, &resolution).await.unwrap());
        store.close().await;
        let store = place.open().await;
        let first = store.feedback_by_id(1).await.unwrap().unwrap();
        assert_eq!(first.feedback, report("acme", "bug"));
        assert_eq!(first.resolved, Some(resolution));
        assert_eq!(store.feedback_by_id(77).await.unwrap(), None);
        let all = || FeedbackQuery {
            limit: 9,
            ..FeedbackQuery::default()
        };
        let (acme, bug) = ("acme".parse().ok(), Some("bug".to_owned()));
        for (query, expected) in [
            (all(), vec![3, 2, 1]),
            (FeedbackQuery { limit: 1, ..all() }, vec![3]),
            (
                FeedbackQuery {
                    before_id: Some(3),
                    ..all()
                },
                vec![2, 1],
            ),
            (
                FeedbackQuery {
                    tenant: acme,
                    ..all()
                },
                vec![2, 1],
            ),
            (FeedbackQuery { kind: bug, ..all() }, vec![3, 1]),
            (
                FeedbackQuery {
                    open: Some(true),
                    ..all()
                },
                vec![3, 2],
            ),
            (
                FeedbackQuery {
                    open: Some(false),
                    ..all()
                },
                vec![1],
            ),
        ] {
            assert_eq!(ids(&store, query.clone()).await, expected, "{query:?}");
        }
    }

    async fn a_tenant_with_too_many_open_reports_waits_until_some_are_resolved(place: TestPlace) {
        let store = place.open().await;
        let resolution = FeedbackResolution {
            at: Timestamp(9),
            note: None,
        };
        let acme = report("acme", "bug");
        for (kept, resolved) in [
            (Some(1), None),
            (Some(2), None),
            (None, Some(1)),
            (Some(3), Some(2)),
            (Some(4), None),
            (None, None),
        ] {
            assert_eq!(store.add_feedback(&acme, LIMITS).await.unwrap(), kept);
            if let Some(id) = resolved {
                assert!(store.resolve_feedback(id, &resolution).await.unwrap());
            }
        }
        let all = FeedbackQuery {
            limit: 9,
            ..FeedbackQuery::default()
        };
        assert_eq!(ids(&store, all).await, [4, 3, 2], "the first made room");
        let globex = store.add_feedback(&report("globex", "bug"), LIMITS).await;
        assert!(globex.unwrap().is_some());
    }
}
