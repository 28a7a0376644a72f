//! Lessons from the use of tools: in this context, this tool had this outcome.
//!
//! Only the gateway interprets a signal. A lesson is added, read and deleted, and never changed.

use kitbag_domain::{KeyId, Tenant, Timestamp};

use crate::engine::Engine;
use crate::engine::query::Query;
use crate::engine::row_struct::row_struct;
use crate::{Error, Store, skip_unreadable, small_vector, unreadable_error};

/// A lesson to store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewLesson {
    pub tenant: Tenant,
    /// The key of the caller; `None` for the user at this machine.
    pub credential: Option<KeyId>,
    /// Distinguishes sessions, and has no other meaning.
    pub session: i64,
    pub at: Timestamp,
    /// The name by which clients call the tool.
    pub tool: String,
    pub signal: String,
    /// `None` if the tool was used for an unknown reason.
    pub context: Option<ContextVector>,
    /// The text of the vector, if the operator wants it stored.
    pub words: Option<String>,
}

/// The vector of a context, and its model. Vectors of two models cannot be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextVector {
    pub model: String,
    pub vector: Vec<f32>,
}

/// A stored lesson. Its vector is accurate to two digits.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredLesson {
    pub id: i64,
    pub lesson: NewLesson,
}

/// Selects lessons that match every field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LessonFilter {
    pub tenant: Option<Tenant>,
    pub tool: Option<String>,
    pub credential: Option<KeyId>,
    pub signal: Option<String>,
    /// Only lessons whose stored text contains this match.
    pub words: Option<String>,
    /// Only lessons before this time match.
    pub before: Option<Timestamp>,
    /// Only lessons after this id match.
    pub after_id: i64,
}

/// A lesson without its vector, for a person to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonInfo {
    pub id: i64,
    pub tenant: Tenant,
    pub credential: Option<KeyId>,
    pub at: Timestamp,
    pub tool: String,
    pub signal: String,
    pub words: Option<String>,
}

/// The number of lessons with one signal of a tool and a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonCount {
    pub tool: String,
    pub tenant: Tenant,
    pub signal: String,
    pub lessons: u64,
    /// The time of the last one.
    pub last: Timestamp,
}

const DELETE: &str = "delete lessons";

/// Keeps the number of values in a statement well below the limits of both engines.
const ROWS_PER_STATEMENT: usize = 256;

impl Store {
    /// Stores all of these lessons or, on an error, none.
    pub async fn add_lessons(&self, lessons: &[NewLesson]) -> Result<(), Error> {
        const ACTION: &str = "store lessons";
        let mut transaction = self.engine.begin(ACTION).await?;
        for chunk in lessons.chunks(ROWS_PER_STATEMENT) {
            transaction
                .query("INSERT INTO lessons (tenant, credential, session, at, tool, signal, model, vector, words) VALUES ")
                .push_tuples(chunk, bind_lesson)
                .execute(ACTION)
                .await?;
        }
        transaction.commit(ACTION).await
    }

    /// Returns the matching lessons, in the order of their addition.
    pub async fn lessons(&self, filter: &LessonFilter) -> Result<Vec<StoredLesson>, Error> {
        let select = self.engine.query("SELECT ").push(COLUMNS);
        let rows = push_conditions(&self.engine, select.push(" FROM lessons"), filter)
            .push(" ORDER BY id")
            .fetch_all("read lessons")
            .await?;
        Ok(skip_unreadable(rows, read_lesson))
    }

    /// Returns the newest matching lessons, newest first; before the one with an id, if it is given.
    pub async fn newest_lessons(
        &self,
        filter: &LessonFilter,
        older_than: Option<i64>,
        limit: u32,
    ) -> Result<Vec<LessonInfo>, Error> {
        let select = self.engine.query(SELECT_INFO);
        let rows = push_conditions(&self.engine, select, filter)
            .push_filter(" AND id < ", older_than)
            .push_bind(" ORDER BY id DESC LIMIT ", i64::from(limit))
            .fetch_all("read the newest lessons")
            .await?;
        Ok(skip_unreadable(rows, read_info))
    }

    /// Returns the lessons with these ids, as far as they exist.
    pub async fn lessons_by_id(&self, ids: &[i64]) -> Result<Vec<LessonInfo>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let select = self.engine.query(SELECT_INFO).push(" WHERE id IN ");
        let select = select.push_list(ids.iter().copied()).push(" ORDER BY id");
        let rows = select.fetch_all("read lessons by id").await?;
        Ok(skip_unreadable(rows, read_info))
    }

    /// Counts the matching lessons by tool, tenant and signal.
    pub async fn lesson_counts(&self, filter: &LessonFilter) -> Result<Vec<LessonCount>, Error> {
        let select =
            "SELECT tool, tenant, signal, count(*) AS lessons, max(at) AS last FROM lessons";
        let rows = push_conditions(&self.engine, self.engine.query(select), filter)
            .push(" GROUP BY tool, tenant, signal ORDER BY tool, tenant, signal")
            .fetch_all("count lessons by tool")
            .await?;
        Ok(skip_unreadable(rows, read_count))
    }

    /// Returns the number of matching lessons.
    pub async fn count_lessons(&self, filter: &LessonFilter) -> Result<u64, Error> {
        let count = self.engine.query("SELECT count(*) FROM lessons");
        let counted = push_conditions(&self.engine, count, filter).fetch_scalar("count lessons");
        counted.await.map(i64::cast_unsigned)
    }

    /// Deletes the matching lessons, and returns their number.
    pub async fn delete_lessons(&self, filter: &LessonFilter) -> Result<u64, Error> {
        let delete = self.engine.query("DELETE FROM lessons");
        push_conditions(&self.engine, delete, filter)
            .execute(DELETE)
            .await
    }

    /// Deletes lessons by id, and returns how many existed.
    pub async fn delete_lessons_by_id(&self, ids: &[i64]) -> Result<u64, Error> {
        let elements = self.engine.pick(
            "SELECT value FROM json_each($1)",
            "SELECT value::bigint FROM json_array_elements_text($1::json)",
        );
        self.engine
            .query("DELETE FROM lessons WHERE id IN (")
            .push(elements)
            .push(")")
            .bind(serde_json::json!(ids).to_string())
            .execute(DELETE)
            .await
    }
}

/// The columns of a row, in the order of [`LessonRow`].
const COLUMNS: &str = "id, tenant, credential, session, at, tool, signal, model, vector, words";

row_struct! {
    struct LessonRow {
        id: i64,
        tenant: String,
        credential: Option<String>,
        session: i64,
        at: i64,
        tool: String,
        signal: String,
        model: Option<String>,
        vector: Option<Vec<u8>>,
        words: Option<String>,
    }
}

const SELECT_INFO: &str = "SELECT id, tenant, credential, at, tool, signal, words FROM lessons";

row_struct! {
    struct InfoRow {
        id: i64,
        tenant: String,
        credential: Option<String>,
        at: i64,
        tool: String,
        signal: String,
        words: Option<String>,
    }
}

row_struct! {
    struct CountRow {
        tool: String,
        tenant: String,
        signal: String,
        lessons: i64,
        last: i64,
    }
}

fn read_info(row: InfoRow) -> Result<LessonInfo, Error> {
    let tenant = row.tenant.parse();
    Ok(LessonInfo {
        id: row.id,
        tenant: tenant.map_err(|_| unreadable_error("tenant", row.tenant))?,
        credential: row.credential.map(KeyId),
        at: Timestamp(row.at),
        tool: row.tool,
        signal: row.signal,
        words: row.words,
    })
}

fn read_count(row: CountRow) -> Result<LessonCount, Error> {
    let tenant = row.tenant.parse();
    Ok(LessonCount {
        tool: row.tool,
        tenant: tenant.map_err(|_| unreadable_error("tenant", row.tenant))?,
        signal: row.signal,
        lessons: row.lessons.cast_unsigned(),
        last: Timestamp(row.last),
    })
}

fn read_lesson(row: LessonRow) -> Result<StoredLesson, Error> {
    let tenant = row.tenant.parse();
    let vector = row.vector.as_deref().and_then(small_vector::from_bytes);
    let context = row.model.zip(vector);
    Ok(StoredLesson {
        id: row.id,
        lesson: NewLesson {
            tenant: tenant.map_err(|_| unreadable_error("tenant", row.tenant))?,
            credential: row.credential.map(KeyId),
            session: row.session,
            at: Timestamp(row.at),
            tool: row.tool,
            signal: row.signal,
            context: context.map(|(model, vector)| ContextVector { model, vector }),
            words: row.words,
        },
    })
}

fn bind_lesson<'c>(query: Query<'c>, lesson: &NewLesson) -> Query<'c> {
    let context = lesson.context.as_ref();
    query
        .bind(lesson.tenant.as_str())
        .bind(lesson.credential.as_ref().map(|key| key.0.as_str()))
        .bind(lesson.session)
        .bind(lesson.at.0)
        .bind_untrusted_text(Some(&lesson.tool))
        .bind(&lesson.signal)
        .bind(context.map(|context| context.model.as_str()))
        .bind(context.map(|context| small_vector::to_bytes(&context.vector)))
        .bind_untrusted_text(lesson.words.as_deref())
}

fn push_conditions<'c>(engine: &Engine, query: Query<'c>, filter: &LessonFilter) -> Query<'c> {
    let find_words = engine.pick(
        " AND 0 < instr(lower(words), ",
        " AND 0 < strpos(lower(words), ",
    );
    let credential = filter.credential.as_ref().map(|key| key.0.as_str());
    let query = query
        .push_bind(" WHERE id > ", filter.after_id)
        .push_filter(" AND tenant = ", filter.tenant.as_ref().map(Tenant::as_str))
        .push_filter(" AND tool = ", filter.tool.as_deref())
        .push_filter(" AND credential = ", credential)
        .push_filter(" AND signal = ", filter.signal.as_deref())
        .push_filter(" AND at < ", filter.before.map(|before| before.0));
    match &filter.words {
        None => query,
        Some(words) => query.push_bind(find_words, words.to_lowercase()).push(")"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(
        lessons_are_in_order_after_a_restart,
        only_matching_lessons_are_read_counted_and_deleted,
        lessons_are_read_page_by_page_and_counted_by_tool,
        text_that_an_engine_cannot_store_does_not_affect_other_lessons,
    );

    fn lesson(tenant: &str, tool: &str, at: i64) -> NewLesson {
        NewLesson {
            tenant: tenant.parse().unwrap(),
            credential: (at % 2 == 1).then(|| KeyId("k1".to_owned())),
            session: -at,
            at: Timestamp(at),
            tool: tool.to_owned(),
            signal: "used".to_owned(),
            context: (at > 1).then(|| ContextVector {
                model: "m".to_owned(),
                vector: vec![1.0, -1.0, 0.0],
            }),
            words: (at > 2).then(|| "ünï".to_owned()),
        }
    }

    async fn lessons_are_in_order_after_a_restart(place: TestPlace) {
        let store = place.open().await;
        let kept: Vec<NewLesson> = (0..700).map(|at| lesson("acme", "git__log", at)).collect();
        store.add_lessons(&kept).await.unwrap();
        store.close().await;
        let store = place.open().await;
        let found = store.lessons(&LessonFilter::default()).await.unwrap();
        assert!(found.is_sorted_by_key(|it| it.id));
        let found: Vec<NewLesson> = found.into_iter().map(|it| it.lesson).collect();
        assert_eq!(found, kept);
    }

    async fn text_that_an_engine_cannot_store_does_not_affect_other_lessons(place: TestPlace) {
        let store = place.open().await;
        let mut hostile = lesson("acme", "git__log\0", 3);
        hostile.words = Some("a\0b'; DROP TABLE lessons; --".to_owned());
        let other = lesson("globex", "git__log", 3);
        store.add_lessons(&[hostile, other.clone()]).await.unwrap();
        let found = store.lessons(&LessonFilter::default()).await.unwrap();
        assert_eq!((found.len(), &found[1].lesson), (2, &other));
        let words = found[0].lesson.words.as_deref().unwrap();
        assert!(words.ends_with("b'; DROP TABLE lessons; --"), "{words}");
    }

    async fn lessons_are_read_page_by_page_and_counted_by_tool(place: TestPlace) {
        let store = place.open().await;
        let lessons = [
            lesson("acme", "git__log", 1),
            lesson("acme", "git__log", 5),
            lesson("globex", "git__log", 3),
        ];
        store.add_lessons(&lessons).await.unwrap();
        let all = LessonFilter::default();
        let first = store.newest_lessons(&all, None, 2).await.unwrap();
        let rest = store
            .newest_lessons(&all, Some(first[1].id), 2)
            .await
            .unwrap();
        let times: Vec<i64> = first.iter().chain(&rest).map(|it| it.at.0).collect();
        assert_eq!(times, [3, 5, 1]);
        let ids = [rest[0].id, 999];
        assert_eq!(store.lessons_by_id(&ids).await.unwrap(), rest);
        let counts = store.lesson_counts(&all).await.unwrap();
        let acme = &counts[0];
        assert_eq!(
            (counts.len(), acme.lessons, acme.last),
            (2, 2, Timestamp(5))
        );
    }

    async fn only_matching_lessons_are_read_counted_and_deleted(place: TestPlace) {
        let store = place.open().await;
        let kept = [
            lesson("acme", "git__log", 1),
            lesson("acme", "git__push", 2),
            lesson("globex", "git__log", 3),
        ];
        store.add_lessons(&kept).await.unwrap();
        let first = store.lessons(&LessonFilter::default()).await.unwrap()[0].id;
        let all = LessonFilter::default;
        for (filter, fitting) in [
            (all(), 3),
            (
                LessonFilter {
                    tenant: Some("acme".parse().unwrap()),
                    ..all()
                },
                2,
            ),
            (
                LessonFilter {
                    tool: Some("git__log".to_owned()),
                    ..all()
                },
                2,
            ),
            (
                LessonFilter {
                    credential: Some(KeyId("k1".to_owned())),
                    ..all()
                },
                2,
            ),
            (
                LessonFilter {
                    signal: Some("failed".to_owned()),
                    ..all()
                },
                0,
            ),
            (
                LessonFilter {
                    words: Some("N".to_owned()),
                    ..all()
                },
                1,
            ),
            (
                LessonFilter {
                    before: Some(Timestamp(2)),
                    ..all()
                },
                1,
            ),
            (
                LessonFilter {
                    after_id: first,
                    ..all()
                },
                2,
            ),
        ] {
            assert_eq!(
                store.count_lessons(&filter).await.unwrap(),
                fitting,
                "{filter:?}"
            );
            assert_eq!(store.lessons(&filter).await.unwrap().len() as u64, fitting);
        }
        let acme = LessonFilter {
            tenant: Some("acme".parse().unwrap()),
            ..all()
        };
        assert_eq!(store.delete_lessons(&acme).await.unwrap(), 2);
        let left = store.lessons(&all()).await.unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(
            store
                .delete_lessons_by_id(&[left[0].id, 999])
                .await
                .unwrap(),
            1
        );
        assert_eq!(store.count_lessons(&all()).await.unwrap(), 0);
    }
}
