//! Facts with their sources, of one tenant or of all.
//!
//! A fact is added and deleted, and never changed. How far a source is trusted is a number that
//! only the caller interprets.

use kitbag_domain::{Tenant, Timestamp};

use crate::engine::query::Query;
use crate::engine::row_struct::row_struct;
use crate::tenant_column::read_optional_tenant;
use crate::{ContextVector, Error, Store, skip_unreadable, small_vector};

/// A fact to store. The fields with `_key` hold the text in its form for comparison with queries.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFact {
    /// `None` if all tenants may read it.
    pub tenant: Option<Tenant>,
    pub subject: String,
    pub subject_key: String,
    pub predicate: String,
    pub predicate_key: String,
    pub object: String,
    /// The name of the source.
    pub source: String,
    pub url: Option<String>,
    /// The quoted text of the source.
    pub quote: String,
    /// The most trusted have the smallest number.
    pub authority: i64,
    pub observed_at: Timestamp,
    pub valid_until: Option<Timestamp>,
    /// The vector of the whole fact, for queries in plain language.
    pub meaning: Option<ContextVector>,
}

/// A stored fact. Its vector is accurate to two digits.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredFact {
    pub id: i64,
    pub fact: NewFact,
}

/// Selects facts that match every field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactFilter {
    pub holders: FactHolders,
    pub subject_key: Option<String>,
    pub predicate_key: Option<String>,
    pub source: Option<String>,
    pub id: Option<i64>,
    /// Only facts after this id match.
    pub after_id: i64,
    /// `None` for all.
    pub limit: Option<u32>,
}

/// The holders of the selected facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FactHolders {
    #[default]
    Any,
    /// Only facts of this tenant, or only the common facts if `None`.
    Only(Option<Tenant>),
    /// Facts that this tenant may read: its own, and the common ones.
    ReadBy(Tenant),
}

/// The facts of one holder that are imported together.
#[derive(Debug, Clone, Copy)]
pub struct FactImport<'a> {
    pub holder: Option<&'a Tenant>,
    /// Existing facts of this source are replaced.
    pub replaced_source: Option<&'a str>,
    pub facts: &'a [NewFact],
    /// The holder's limit.
    pub most: i64,
}

/// The outcome of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactImportOutcome {
    Imported {
        /// New facts.
        added: u64,
        /// Replaced facts.
        replaced: u64,
    },
    /// The holder would exceed its limit; nothing was changed.
    TooMany { would_be: i64 },
}

const DELETE: &str = "delete facts";

/// Keeps the number of values in a statement well below the limits of both engines.
const ROWS_PER_STATEMENT: usize = 200;

impl Store {
    /// Stores all of these facts or none. An existing fact is not added again.
    pub async fn import_facts(&self, import: FactImport<'_>) -> Result<FactImportOutcome, Error> {
        const ACTION: &str = "store facts";
        let holder = holder_column(import.holder);
        let mut transaction = self.engine.begin(ACTION).await?;
        let mut replaced = 0;
        if let Some(source) = import.replaced_source {
            replaced = transaction
                .query("DELETE FROM context_facts WHERE tenant = $1 AND source = $2")
                .bind(holder)
                .bind(source)
                .execute(DELETE)
                .await?;
        }
        let mut added = 0;
        for chunk in import.facts.chunks(ROWS_PER_STATEMENT) {
            added += transaction
                .query("INSERT INTO context_facts (")
                .push(INSERTED_COLUMNS)
                .push(") VALUES ")
                .push_tuples(chunk, |query, fact| bind_fact(query, holder, fact))
                .push(" ON CONFLICT (tenant, fingerprint) DO NOTHING")
                .execute(ACTION)
                .await?;
        }
        let would_be = transaction
            .query("SELECT count(*) FROM context_facts WHERE tenant = $1")
            .bind(holder)
            .fetch_scalar("count facts")
            .await?;
        if would_be > import.most {
            return Ok(FactImportOutcome::TooMany { would_be });
        }
        transaction.commit(ACTION).await?;
        Ok(FactImportOutcome::Imported { added, replaced })
    }

    /// Returns the matching facts, in the order of their addition.
    pub async fn facts(&self, filter: &FactFilter) -> Result<Vec<StoredFact>, Error> {
        let select = self.engine.query("SELECT ").push(COLUMNS);
        let rows = push_conditions(select.push(" FROM context_facts"), filter)
            .push(" ORDER BY id")
            .push_filter(" LIMIT ", filter.limit.map(i64::from))
            .fetch_all("read facts")
            .await?;
        Ok(skip_unreadable(rows, read_fact))
    }

    /// Deletes the matching facts, whatever the limit, and returns their number.
    pub async fn delete_facts(&self, filter: &FactFilter) -> Result<u64, Error> {
        let delete = self.engine.query("DELETE FROM context_facts");
        push_conditions(delete, filter).execute(DELETE).await
    }
}

/// The value in the column `tenant`.
fn holder_column(holder: Option<&Tenant>) -> &str {
    holder.map_or("", Tenant::as_str)
}

/// The inserted columns, in order.
const INSERTED_COLUMNS: &str = "tenant, fingerprint, subject, subject_key, predicate, predicate_key, object, source, \
                       url, quote, authority, observed_at, valid_until, model, vector";

/// The columns of a row, in the order of [`FactRow`].
const COLUMNS: &str = "id, tenant, subject, subject_key, predicate, predicate_key, object, source, \
                       url, quote, authority, observed_at, valid_until, model, vector";

row_struct! {
    struct FactRow {
        id: i64,
        tenant: String,
        subject: String,
        subject_key: String,
        predicate: String,
        predicate_key: String,
        object: String,
        source: String,
        url: Option<String>,
        quote: String,
        authority: i64,
        observed_at: i64,
        valid_until: Option<i64>,
        model: Option<String>,
        vector: Option<Vec<u8>>,
    }
}

fn read_fact(row: FactRow) -> Result<StoredFact, Error> {
    let tenant = read_optional_tenant(&row.tenant)?;
    let vector = row.vector.as_deref().and_then(small_vector::from_bytes);
    let meaning = row.model.zip(vector);
    Ok(StoredFact {
        id: row.id,
        fact: NewFact {
            tenant,
            subject: row.subject,
            subject_key: row.subject_key,
            predicate: row.predicate,
            predicate_key: row.predicate_key,
            object: row.object,
            source: row.source,
            url: row.url,
            quote: row.quote,
            authority: row.authority,
            observed_at: Timestamp(row.observed_at),
            valid_until: row.valid_until.map(Timestamp),
            meaning: meaning.map(|(model, vector)| ContextVector { model, vector }),
        },
    })
}

impl NewFact {
    /// Identifies a fact by all its fields except the vector.
    fn fingerprint(&self) -> Vec<u8> {
        let mut hasher = blake3::Hasher::new();
        let url = self.url.as_deref().unwrap_or_default();
        let texts = [
            &self.subject_key,
            &self.predicate_key,
            &self.object,
            &self.source,
            url,
            &self.quote,
        ];
        for text in texts {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        let end = self.valid_until.unwrap_or_default();
        for number in [self.authority, self.observed_at.0, end.0] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.finalize().as_bytes().to_vec()
    }
}

fn bind_fact<'c>(query: Query<'c>, holder: &str, fact: &NewFact) -> Query<'c> {
    let meaning = fact.meaning.as_ref();
    query
        .bind(holder)
        .bind(fact.fingerprint())
        .bind(&fact.subject)
        .bind(&fact.subject_key)
        .bind(&fact.predicate)
        .bind(&fact.predicate_key)
        .bind(&fact.object)
        .bind(&fact.source)
        .bind(fact.url.as_deref())
        .bind(&fact.quote)
        .bind(fact.authority)
        .bind(fact.observed_at.0)
        .bind(fact.valid_until.map(|at| at.0))
        .bind(meaning.map(|meaning| meaning.model.as_str()))
        .bind(meaning.map(|meaning| small_vector::to_bytes(&meaning.vector)))
}

fn push_conditions<'c>(query: Query<'c>, filter: &FactFilter) -> Query<'c> {
    let query = query.push_bind(" WHERE id > ", filter.after_id);
    let query = match &filter.holders {
        FactHolders::Any => query,
        FactHolders::Only(holder) => {
            query.push_bind(" AND tenant = ", holder_column(holder.as_ref()))
        }
        FactHolders::ReadBy(tenant) => query
            .push_bind(" AND tenant IN ('', ", tenant.as_str())
            .push(")"),
    };
    query
        .push_filter(" AND subject_key = ", filter.subject_key.as_deref())
        .push_filter(" AND predicate_key = ", filter.predicate_key.as_deref())
        .push_filter(" AND source = ", filter.source.as_deref())
        .push_filter(" AND id = ", filter.id)
}

#[cfg(test)]
mod tests;
