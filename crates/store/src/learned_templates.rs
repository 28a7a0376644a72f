//! Programs that worked, and their state: candidates, and templates made from them.
//!
//! Only the gateway interprets the body. A row is written only over the revision that was read, so
//! of two gateways that count at once, the second reads again and adds to the first.

use kitbag_domain::{Tenant, Timestamp};

use crate::{Error, Store, skip_unreadable, unreadable_error};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTemplate {
    pub tenant: Tenant,
    pub id: String,
    /// The revision that was read; zero for a new row.
    pub revision: i64,
    /// JSON that only the gateway interprets; stored verbatim.
    pub body: String,
    pub updated_at: Timestamp,
}

const READ: &str = "read learned templates";

impl Store {
    /// Writes a row over its expected revision. Returns false, and writes nothing, if another
    /// writer was faster: read the row again, and apply the change to that.
    pub async fn put_learned_template(&self, template: &StoredTemplate) -> Result<bool, Error> {
        let query = match template.revision {
            0 => self.engine.query(
                "INSERT INTO learned_templates (body, updated_at, tenant, id, revision)
                 VALUES ($1, $2, $3, $4, $5 + 1) ON CONFLICT (tenant, id) DO NOTHING",
            ),
            _ => self.engine.query(
                "UPDATE learned_templates SET revision = revision + 1, body = $1, updated_at = $2
                 WHERE tenant = $3 AND id = $4 AND revision = $5",
            ),
        };
        query
            .bind(&template.body)
            .bind(template.updated_at.0)
            .bind(template.tenant.as_str())
            .bind(&template.id)
            .bind(template.revision)
            .execute_on_row("store a learned template")
            .await
    }

    pub async fn learned_template(
        &self,
        tenant: &Tenant,
        id: &str,
    ) -> Result<Option<StoredTemplate>, Error> {
        let row = self
            .engine
            .query(
                "SELECT tenant, id, revision, body, updated_at FROM learned_templates
                         WHERE tenant = $1 AND id = $2",
            )
            .bind(tenant.as_str())
            .bind(id)
            .fetch_optional(READ)
            .await?;
        row.map(read_template).transpose()
    }

    /// Returns the rows of one tenant, or of all, by tenant and id.
    pub async fn learned_templates(
        &self,
        tenant: Option<&Tenant>,
    ) -> Result<Vec<StoredTemplate>, Error> {
        let rows = self
            .engine
            .query("SELECT tenant, id, revision, body, updated_at FROM learned_templates")
            .push_filter(" WHERE tenant = ", tenant.map(Tenant::as_str))
            .push(" ORDER BY tenant, id")
            .fetch_all(READ)
            .await?;
        Ok(skip_unreadable(rows, read_template))
    }
}

/// The tenant, the id, the revision, the body, and when it was written.
type TemplateRow = (String, String, i64, String, i64);

fn read_template((tenant, id, revision, body, at): TemplateRow) -> Result<StoredTemplate, Error> {
    let tenant = tenant
        .parse()
        .map_err(|_| unreadable_error("tenant", tenant))?;
    Ok(StoredTemplate {
        tenant,
        id,
        revision,
        body,
        updated_at: Timestamp(at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::{TestPlace, each_engine, each_engine_on_threads};

    each_engine!(
        rows_belong_to_their_tenant_and_are_returned_verbatim,
        a_row_is_written_only_over_the_revision_that_was_read,
    );
    each_engine_on_threads!(counts_of_several_gateways_add_up);

    fn row(tenant: &str, id: &str, revision: i64, body: &str) -> StoredTemplate {
        StoredTemplate {
            tenant: tenant.parse().unwrap(),
            id: id.to_owned(),
            revision,
            body: body.to_owned(),
            updated_at: Timestamp(7),
        }
    }

    async fn rows_belong_to_their_tenant_and_are_returned_verbatim(place: TestPlace) {
        let store = place.open().await;
        for (tenant, id) in [("globex", "1"), ("acme", "2"), ("acme", "1")] {
            let new = row(tenant, id, 0, &format!("{{ \"of\":\"{tenant}\" }}\n"));
            assert!(store.put_learned_template(&new).await.unwrap());
        }
        store.close().await;
        let store = place.open().await;
        let acme = "acme".parse().unwrap();
        let body = "{ \"of\":\"acme\" }\n";
        let own = [row("acme", "1", 1, body), row("acme", "2", 1, body)];
        assert_eq!(store.learned_templates(Some(&acme)).await.unwrap(), own);
        assert_eq!(store.learned_templates(None).await.unwrap().len(), 3);

        assert_eq!(store.learned_template(&acme, "3").await.unwrap(), None);
        let globex = "globex".parse().unwrap();
        assert!(
            store
                .learned_template(&globex, "1")
                .await
                .unwrap()
                .is_some()
        );
    }

    async fn a_row_is_written_only_over_the_revision_that_was_read(place: TestPlace) {
        let store = place.open().await;
        for (revision, body, written) in [
            (1, "nothing to write over", false),
            (0, "first", true),
            (0, "first again", false),
            (1, "second", true),
            (1, "late", false),
            (2, "third", true),
        ] {
            let put = store
                .put_learned_template(&row("acme", "1", revision, body))
                .await;
            assert_eq!(put.unwrap(), written, "{body}");
        }
        let found = store
            .learned_template(&"acme".parse().unwrap(), "1")
            .await
            .unwrap();
        assert_eq!(found, Some(row("acme", "1", 3, "third")));
    }

    async fn counts_of_several_gateways_add_up(place: TestPlace) {
        const EACH: u32 = 20;
        let mut gateways = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let store = place.open().await;
            gateways.spawn(async move {
                for _ in 0..EACH {
                    count_one(&store).await;
                }
            });
        }
        gateways.join_all().await;
        let store = place.open().await;
        let found = store
            .learned_template(&"acme".parse().unwrap(), "1")
            .await
            .unwrap();
        assert_eq!(found.unwrap().body, (4 * EACH).to_string());
    }

    async fn count_one(store: &Store) {
        let acme = "acme".parse().unwrap();
        loop {
            let found = store.learned_template(&acme, "1").await.unwrap();
            let mut next = found.unwrap_or_else(|| row("acme", "1", 0, "0"));
            next.body = (next.body.parse::<u32>().unwrap() + 1).to_string();
            if store.put_learned_template(&next).await.unwrap() {
                return;
            }
        }
    }
}
