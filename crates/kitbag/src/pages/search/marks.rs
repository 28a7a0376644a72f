//! Marks a result of a search as right or wrong: a lesson for the tenant's searches.

use axum::Form;
use axum::extract::State;
use axum::response::Response;
use kitbag_domain::Action;
use kitbag_gateway::learning::marks::ToolMark;
use serde::Deserialize;

use super::PATH;
use crate::cli::learned::mark::{describe_mark, mark_event};
use crate::pages::Pages;
use crate::pages::visitor::Visitor;
use crate::trail;

#[derive(Deserialize)]
pub(super) struct MarkForm {
    tool: String,
    query: String,
    tenant: String,
    mark: String,
    back: String,
}

pub(super) async fn mark(
    State(pages): State<Pages>,
    visitor: Visitor,
    Form(form): Form<MarkForm>,
) -> Response {
    let is_search = form.back == PATH || form.back.starts_with(&format!("{PATH}?"));
    let back = if is_search {
        form.back.clone()
    } else {
        PATH.to_owned()
    };
    visitor.redirect(&back, learn(&pages, &visitor, form).await)
}

async fn learn(pages: &Pages, visitor: &Visitor, form: MarkForm) -> anyhow::Result<String> {
    let mark = ToolMark {
        tenant: form.tenant.parse()?,
        key: visitor.caller.key.clone(),
        query: form.query,
        tool: form.tool,
        is_right: form.mark == "right",
    };
    pages.app.mark_tool(&mark).await?;
    let event = visitor.change_event(Action::ResultMarked, &mark.tool, None);
    trail::record_event(&pages.gateway().services.store, mark_event(event, &mark)).await?;
    Ok(describe_mark(&mark))
}
