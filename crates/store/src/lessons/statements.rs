//! The statements of the table `lessons`.

use super::{COLUMNS, LessonFilter, LessonRow, NewLesson};
use crate::engine::query::Query;
use crate::engine::{Engine, Transaction};
use crate::{Error, small_vector};

const DELETE: &str = "delete lessons";

/// Keeps the number of values in a statement well below the limits of both engines.
const ROWS_PER_STATEMENT: usize = 256;

pub(super) async fn insert_lessons(
    transaction: &mut Transaction,
    lessons: &[NewLesson],
) -> Result<(), Error> {
    for chunk in lessons.chunks(ROWS_PER_STATEMENT) {
        transaction
            .query(
                "INSERT INTO lessons (tenant, credential, session, at, tool, signal, model, vector, words)
                 VALUES ",
            )
            .push_tuples(chunk, bind_lesson)
            .execute("store lessons")
            .await?;
    }
    Ok(())
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

pub(super) async fn select_lessons(
    engine: &Engine,
    filter: &LessonFilter,
) -> Result<Vec<LessonRow>, Error> {
    let select = engine.query("SELECT ").push(COLUMNS).push(" FROM lessons");
    push_conditions(select, filter)
        .push(" ORDER BY id")
        .fetch_all("read lessons")
        .await
}

pub(super) async fn count_lessons(engine: &Engine, filter: &LessonFilter) -> Result<i64, Error> {
    let count = engine.query("SELECT count(*) FROM lessons");
    push_conditions(count, filter)
        .fetch_scalar("count lessons")
        .await
}

pub(super) async fn delete_lessons(engine: &Engine, filter: &LessonFilter) -> Result<u64, Error> {
    let delete = engine.query("DELETE FROM lessons");
    push_conditions(delete, filter).execute(DELETE).await
}

pub(super) async fn delete_ids(engine: &Engine, ids: &[i64]) -> Result<u64, Error> {
    let elements = engine.pick(
        "SELECT value FROM json_each($1)",
        "SELECT value::bigint FROM json_array_elements_text($1::json)",
    );
    engine
        .query("DELETE FROM lessons WHERE id IN (")
        .push(elements)
        .push(")")
        .bind(serde_json::json!(ids).to_string())
        .execute(DELETE)
        .await
}

fn push_conditions<'c>(query: Query<'c>, filter: &LessonFilter) -> Query<'c> {
    query
        .push_bind(" WHERE id > ", filter.after_id)
        .push_filter(
            " AND tenant = ",
            filter.tenant.as_ref().map(kitbag_domain::Tenant::as_str),
        )
        .push_filter(" AND tool = ", filter.tool.as_deref())
        .push_filter(
            " AND credential = ",
            filter.credential.as_ref().map(|key| key.0.as_str()),
        )
        .push_filter(" AND at < ", filter.before.map(|before| before.0))
}
