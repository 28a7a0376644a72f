//! The statements of the table `lessons`, for PostgreSQL.

use sqlx::QueryBuilder;

use super::{COLUMNS, LessonFilter, LessonRow, NewLesson};
use crate::engine::postgres::{Postgres, PostgresTransaction, storable};
use crate::{Error, failed, small_vector};

/// Well below the number of values PostgreSQL accepts in one statement.
const ROWS_PER_STATEMENT: usize = 256;

pub(super) async fn insert(
    transaction: &mut PostgresTransaction,
    lessons: &[NewLesson],
) -> Result<(), Error> {
    for some in lessons.chunks(ROWS_PER_STATEMENT) {
        let done = insertion(some).build().execute(&mut **transaction).await;
        done.map_err(failed("remember lessons"))?;
    }
    Ok(())
}

pub(super) async fn select(
    postgres: &Postgres,
    filter: &LessonFilter,
) -> Result<Vec<LessonRow>, Error> {
    let mut select = fitting(&format!("SELECT {COLUMNS} FROM lessons"), filter);
    select.push(" ORDER BY id");
    select
        .build_query_as()
        .fetch_all(&postgres.pool)
        .await
        .map_err(failed("recall lessons"))
}

pub(super) async fn count(postgres: &Postgres, filter: &LessonFilter) -> Result<i64, Error> {
    fitting("SELECT count(*) FROM lessons", filter)
        .build_query_scalar()
        .fetch_one(&postgres.pool)
        .await
        .map_err(failed("count lessons"))
}

pub(super) async fn delete(postgres: &Postgres, filter: &LessonFilter) -> Result<u64, Error> {
    let done = fitting("DELETE FROM lessons", filter)
        .build()
        .execute(&postgres.pool)
        .await
        .map_err(failed("forget lessons"))?;
    Ok(done.rows_affected())
}

pub(super) async fn delete_ids(postgres: &Postgres, ids: &[i64]) -> Result<u64, Error> {
    let mut deleted = 0;
    for some in ids.chunks(ROWS_PER_STATEMENT) {
        let mut delete = QueryBuilder::<sqlx::Postgres>::new("DELETE FROM lessons WHERE id IN (");
        let mut list = delete.separated(", ");
        for id in some {
            list.push_bind(*id);
        }
        delete.push(")");
        let done = delete.build().execute(&postgres.pool).await;
        deleted += done.map_err(failed("forget lessons"))?.rows_affected();
    }
    Ok(deleted)
}

fn insertion(lessons: &[NewLesson]) -> QueryBuilder<sqlx::Postgres> {
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
            .push_bind(storable(&lesson.tool).into_owned())
            .push_bind(lesson.signal.clone())
            .push_bind(context.map(|context| context.model.clone()))
            .push_bind(context.map(|context| small_vector::bytes(&context.vector)))
            .push_bind(lesson.words.as_deref().map(|it| storable(it).into_owned()));
    });
    insert
}

/// The beginning of a statement, narrowed to the lessons that fit.
fn fitting(beginning: &str, filter: &LessonFilter) -> QueryBuilder<sqlx::Postgres> {
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
