//! Forgets lessons, and computes the priors.

use axum::Form;
use axum::extract::State;
use axum::response::Response;
use kitbag_domain::{Action, Tenant};
use serde::Deserialize;

use super::PATH;
use crate::cli::learned::forget::{LessonSelection, forget_lessons};
use crate::cli::learned::priors::describe_run;
use crate::cli::output::pluralize;
use crate::pages::Pages;
use crate::pages::visitor::Visitor;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ForgetForm {
    lesson: Option<i64>,
    tool: String,
    tenant: String,
    /// `yes` forgets all lessons of all tenants.
    all: String,
    /// The page to return to.
    back: String,
}

pub(super) async fn forget(
    State(pages): State<Pages>,
    visitor: Visitor,
    Form(form): Form<ForgetForm>,
) -> Response {
    let is_page = [PATH, "/ui/tools/"]
        .iter()
        .any(|path| form.back.starts_with(path));
    let back = if is_page {
        form.back.clone()
    } else {
        PATH.to_owned()
    };
    visitor.redirect(&back, forget_selected(&pages, &visitor, form).await)
}

async fn forget_selected(
    pages: &Pages,
    visitor: &Visitor,
    form: ForgetForm,
) -> anyhow::Result<String> {
    let tenant: Option<Tenant> = match form.tenant.as_str() {
        "" => None,
        tenant => Some(tenant.parse()?),
    };
    let selection = LessonSelection {
        lesson: form.lesson.into_iter().collect(),
        tool: (!form.tool.is_empty()).then_some(form.tool),
        tenant,
        all: form.all == "yes",
        ..LessonSelection::default()
    };
    let store = &pages.gateway().services.store;
    let forgotten = forget_lessons(store, &selection, |subject| {
        visitor.change_event(Action::LessonsForgotten, subject, None)
    });
    let forgotten = usize::try_from(forgotten.await?).unwrap_or(usize::MAX);
    Ok(format!("Forgot {}.", pluralize(forgotten, "lesson")))
}

pub(super) async fn run_priors(State(pages): State<Pages>, visitor: Visitor) -> Response {
    let ran = pages.app.run_priors().await;
    let outcome = ran.map(|summary| format!("{}.", describe_run(&summary)));
    visitor.redirect(&format!("{PATH}#priors"), outcome)
}
