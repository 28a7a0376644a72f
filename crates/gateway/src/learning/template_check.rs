//! Parses the programs of the operator's templates in a worker when they are loaded.

use std::sync::Arc;

use kitbag_domain::sync::lock;
use kitbag_intents::TemplateOrigin;
use kitbag_sandbox::CheckFailure;

use crate::state::gateway::Gateway;

/// Disables templates whose program has a syntax error, and logs the line of each. The built-in
/// ones are checked by tests.
pub async fn check_templates(gateway: Arc<Gateway>) {
    let entries = gateway.templates.entries().iter();
    for entry in entries.filter(|entry| entry.origin == TemplateOrigin::Own) {
        let template = &entry.template;
        match gateway.sandbox.check(template.code()).await {
            Ok(_) => {}
            Err(CheckFailure::Syntax(mistake)) => {
                tracing::warn!(template = %template.name(), "disabled a template because its program has an error: {mistake}");
                lock(&gateway.broken_templates).insert(template.name().clone());
            }
            Err(CheckFailure::Unread(failure)) => {
                tracing::warn!(template = %template.name(), "failed to check the program of a template: {failure}");
            }
        }
    }
}
