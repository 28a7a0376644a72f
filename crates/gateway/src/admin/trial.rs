//! Trials of templates that nobody has approved yet.

use kitbag_domain::Surface;
use kitbag_intents::IntentTemplate;
use serde_json::{Map, Value};

use crate::admin::app::{App, CallOptions};
use crate::admin::eval::discard_messages;
use crate::surface::intent::trial::{TemplateTrial, try_template};
use crate::turn::Turn;

impl App {
    /// Tries a template once, which does not count as use.
    pub async fn try_template(
        &self,
        template: &IntentTemplate,
        params: Map<String, Value>,
        options: CallOptions<'_>,
    ) -> TemplateTrial {
        let (turn, messages) = self.new_eval_turn(Surface::Code);
        let turn = Turn {
            cancelled: options.cancelled,
            ..turn
        };
        discard_messages(messages, try_template(&turn, template, params)).await
    }
}
