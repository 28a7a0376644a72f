//! The statements of the table `lessons`, for SQLite.

use sqlx::QueryBuilder;

use super::{COLUMNS, LessonFilter, LessonRow, NewLesson};
use crate::engine::sqlite::{Sqlite, SqliteTransaction};
use crate::{Error, failed, small_vector};

/// Well below the number of values SQLite accepts in one statement.
const ROWS_PER_STATEMENT: usize = 256;

pub(super) async fn insert(
    transaction: &mut SqliteTransaction,
    lessons: &[NewLesson],
) -> Result<(), Error> {
    for some in lessons.chunks(ROWS_PER_STATEMENT) {
        let done = insertion(some).build().execute(&mut **transaction).await;
        done.map_err(failed("remember lessons"))?;
    }
    Ok(())
}

pub(super) async fn select(
    sqlite: &Sqlite,
    filter: &LessonFilter,
) -> Result<Vec<LessonRow>, Error> {
    let mut select = fitting(&format!("SELECT {COLUMNS} FROM lessons"), filter);
    select.push(" ORDER BY id");
    select
        .build_query_as()
        .fetch_all(&sqlite.reader)
        .await
        .map_err(failed("recall lessons"))
}

pub(super) async fn count(sqlite: &Sqlite, filter: &LessonFilter) -> Result<i64, Error> {
    fitting("SELECT count(*) FROM lessons", filter)
        .build_query_scalar()
        .fetch_one(&sqlite.reader)
        .await
        .map_err(failed("count lessons"))
}

pub(super) async fn delete(sqlite: &Sqlite, filter: &LessonFilter) -> Result<u64, Error> {
    let done = fitting("DELETE FROM lessons", filter)
        .build()
        .execute(&sqlite.writer)
        .await
        .map_err(failed("forget lessons"))?;
    Ok(done.rows_affected())
}

pub(super) async fn delete_ids(sqlite: &Sqlite, ids: &[i64]) -> Result<u64, Error> {
    let mut deleted = 0;
    for some in ids.chunks(ROWS_PER_STATEMENT) {
        let mut delete = QueryBuilder::<sqlx::Sqlite>::new("DELETE FROM lessons WHERE id IN (");
        let mut list = delete.separated(", ");
        for id in some {
            list.push_bind(*id);
        }
        delete.push(")");
        let done = delete.build().execute(&sqlite.writer).await;
        deleted += done.map_err(failed("forget lessons"))?.rows_affected();
    }
    Ok(deleted)
}

fn insertion(lessons: &[NewLesson]) -> QueryBuilder<sqlx::Sqlite> {
    let mut insert = QueryBuilder::new(
        "INSERT INTO lessons (tenant, credential, session, at, tool, signal, model, vector, words) ",
    );
    insert.push_values(lessons, |mut values, lesson| {
        let context = lesson.context.as_ref();
        values
            .push_bind(lesson.tenant.to_string())
            .push_bind(lesson.credential.as_ref().map(|key| key.0.clone()))
            .push_bind(lesson.session)
            .push_bind(lesson.at.0)
            .push_bind(lesson.tool.clone())
            .push_bind(lesson.signal.clone())
            .push_bind(context.map(|context| context.model.clone()))
            .push_bind(context.map(|context| small_vector::bytes(&context.vector)))
            .push_bind(lesson.words.clone());
    });
    insert
}

/// The beginning of a statement, narrowed to the lessons that fit.
fn fitting(beginning: &str, filter: &LessonFilter) -> QueryBuilder<sqlx::Sqlite> {
    let mut query = QueryBuilder::new(beginning);
    query.push(" WHERE id > ").push_bind(filter.after_id);
    if let Some(tenant) = &filter.tenant {
        query.push(" AND tenant = ").push_bind(tenant.to_string());
    }
    if let Some(tool) = &filter.tool {
        query.push(" AND tool = ").push_bind(tool.clone());
    }
    if let Some(key) = &filter.credential {
        query.push(" AND credential = ").push_bind(key.0.clone());
    }
    if let Some(before) = filter.before {
        query.push(" AND at < ").push_bind(before.0);
    }
    query
}
