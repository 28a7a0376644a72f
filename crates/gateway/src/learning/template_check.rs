//! Reads the programs of the operator's templates in a worker when they are loaded.

use std::sync::Arc;

use kitbag_domain::sync::lock;
use kitbag_intents::TemplateOrigin;
use kitbag_sandbox::CheckFailure;

use crate::state::gateway::Gateway;

/// Takes the templates with a mistake in their program out of use, and tells the line of each. The
/// built-in ones are read by the tests.
pub async fn check_templates(gateway: Arc<Gateway>) {
    let entries = gateway.templates.entries().iter();
    for entry in entries.filter(|entry| entry.origin == TemplateOrigin::Own) {
        let template = &entry.template;
        match gateway.sandbox.check(template.code()).await {
            Ok(_) => {}
            Err(CheckFailure::Syntax(mistake)) => {
                tracing::warn!(template = %template.name(), "the program of a template is wrong, so it is not used: {mistake}");
                lock(&gateway.broken_templates).insert(template.name().clone());
            }
            Err(CheckFailure::Unread(failure)) => {
                tracing::warn!(template = %template.name(), "the program of a template cannot be read: {failure}");
            }
        }
    }
}
