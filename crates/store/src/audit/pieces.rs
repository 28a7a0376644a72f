//! Where a piece of the audit begins, for readers that take it piece by piece.

use kitbag_domain::Timestamp;

use super::query::AuditQuery;
use super::selection::select_time;
use crate::{Error, Store};

const READ: &str = "read the audit";

impl Store {
    /// Returns the time of the row that is `rows` before the first row of the query's page; `None`
    /// if there are fewer rows. Of the filters, only the span and the server count.
    pub async fn audit_time_before(
        &self,
        query: &AuditQuery,
        rows: u32,
    ) -> Result<Option<Timestamp>, Error> {
        let select =
            select_time(&self.engine, query).push_bind(" LIMIT 1 OFFSET ", i64::from(rows));
        let at: Option<i64> = select.fetch_optional_scalar(READ).await?;
        Ok(at.map(Timestamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::query::AuditPage;
    use crate::audit::tests::{EVERYTHING, new_observation, records};
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(a_time_before_the_page_counts_rows_that_the_filters_leave_out,);

    async fn a_time_before_the_page_counts_rows_that_the_filters_leave_out(place: TestPlace) {
        let store = place.open().await;
        let rows = (0..5).map(|at| new_observation(at, "acme", "git/log"));
        store.record_all(&records(rows)).await.unwrap();
        let mut query = AuditQuery {
            tenant: "globex".parse().ok(),
            ..EVERYTHING
        };
        let before = |query: AuditQuery, rows| {
            let store = store.clone();
            async move { store.audit_time_before(&query, rows).await.unwrap() }
        };
        assert_eq!(before(query.clone(), 2).await, Some(Timestamp(2)));
        assert_eq!(before(query.clone(), 5).await, None);
        query.server = "mail".parse().ok();
        assert_eq!(before(query.clone(), 0).await, None);
        query.server = "git".parse().ok();
        query.until = Some(Timestamp(3));
        assert_eq!(before(query.clone(), 2).await, Some(Timestamp(0)));
        query.page = AuditPage::OlderThan {
            at: Timestamp(2),
            id: 0,
        };
        assert_eq!(before(query, 1).await, Some(Timestamp(0)));
    }
}
