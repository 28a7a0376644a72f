//! A template written by a language model: asked, checked, and tried on the real server, until an
//! answer works.

use anyhow::anyhow;
use clap::Args;
use kitbag_eval::{ModelClient, ModelEndpoint, ModelEndpointError};
use kitbag_gateway::surface::intent::trial::TemplateTrial;
use kitbag_intents::IntentTemplate;
use kitbag_intents::template::draft::DraftedTool;
use kitbag_intents::template::generation::{
    GeneratedTemplate, RejectedAnswer, generation_prompt, read_generated,
};
use serde_json::{Map, Value};

use crate::cli::arguments::overlay_words;
use crate::cli::failure::{Advise as _, with_advice};
use crate::cli::gateway::CommandGateway;
use crate::cli::model_access::ModelAccess;
use crate::cli::output::{Output, strip_controls};
use crate::local::requests::TryTemplate;

#[derive(Debug, Args)]
pub(super) struct Generation {
    /// Values for the trial instead of the model's, such as repo_path=/src/kitbag.
    #[arg(value_name = "KEY=VALUE", requires = "model")]
    values: Vec<String>,
    /// Let this model write it: anthropic:MODEL, openai:MODEL or URL#MODEL.
    #[arg(long, value_name = "ENDPOINT", help_heading = "Models")]
    model: Option<ModelEndpoint>,
    /// Number of answers that may be rejected before giving up.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "model", help_heading = "Models",
          value_parser = clap::value_parser!(u32).range(1..))]
    attempts: u32,
    #[command(flatten)]
    access: ModelAccess,
}

/// A model that can be asked, and the values that it need not choose.
pub(super) struct TemplateWriter<'a> {
    client: ModelClient,
    generation: &'a Generation,
    given: Map<String, Value>,
    output: Output,
}

impl Generation {
    /// Returns the model to ask, if one was given.
    pub(super) fn open_writer(&self, output: Output) -> anyhow::Result<Option<TemplateWriter<'_>>> {
        let Some(endpoint) = &self.model else {
            return Ok(None);
        };
        let endpoint = endpoint.clone();
        self.access.check_options(std::slice::from_ref(&endpoint))?;
        Ok(Some(TemplateWriter {
            client: self.access.open_client(endpoint, output)?,
            generation: self,
            given: overlay_words(Map::new(), &self.values)?,
            output,
        }))
    }
}

impl TemplateWriter<'_> {
    /// Returns the first template of the model that passes the checks and the trial.
    pub(super) async fn write_template(
        &self,
        tool: &DraftedTool<'_>,
        gateway: &mut CommandGateway,
    ) -> anyhow::Result<IntentTemplate> {
        let mut rejected: Option<RejectedAnswer> = None;
        for _ in 0..self.generation.attempts {
            let text = self.ask_model(tool, rejected.as_ref()).await?;
            let fault = match read_generated(tool, &text, &self.given) {
                Err(fault) => fault.to_string(),
                Ok(generated) => match self.try_template(&generated, gateway).await? {
                    None => return Ok(generated.template),
                    Some(reason) => reason,
                },
            };
            let fault = strip_controls(&fault);
            self.output.note(&format!("Rejected an answer: {fault}"));
            rejected = Some(RejectedAnswer { text, fault });
        }
        let last = rejected.map(|it| it.fault).unwrap_or_default();
        Err(anyhow!("{last}").context("the model wrote no template that works")).advise(|| {
            "name values for the trial, such as repo_path=/src/kitbag, or raise --attempts"
                .to_owned()
        })
    }

    async fn ask_model(
        &self,
        tool: &DraftedTool<'_>,
        rejected: Option<&RejectedAnswer>,
    ) -> anyhow::Result<String> {
        let prompt = generation_prompt(tool, rejected);
        let parameters = self.generation.access.parameters();
        let asking = self.client.ask_for_text(&prompt, &parameters);
        let answer = self.output.with_progress("Asking the model", asking).await;
        answer.map_err(|error: ModelEndpointError| {
            let remedy = error.remedy().to_owned();
            with_advice(error, remedy)
        })
    }

    /// Runs the example on the server. Returns the reason if it fails.
    async fn try_template(
        &self,
        generated: &GeneratedTemplate,
        gateway: &mut CommandGateway,
    ) -> anyhow::Result<Option<String>> {
        let GeneratedTemplate {
            template,
            request,
            params,
        } = generated;
        let (template, params) = (template.clone(), params.clone());
        let trial = gateway.ask(TryTemplate { template, params });
        let trial = self.output.with_progress("Trying the template", trial);
        Ok(match trial.await? {
            TemplateTrial::Ran { answer } => {
                let answer = strip_controls(&shorten(&answer));
                self.output.note(&format!("Tried `{request}`:\n{answer}"));
                None
            }
            TemplateTrial::OnlyChecked => {
                let note = "Checked only: the tool may write, so the program was not run";
                self.output.note(note);
                None
            }
            TemplateTrial::Failed { reason } => Some(format!(
                "the trial with `{request}` failed: {}",
                shorten(&reason)
            )),
        })
    }
}

/// What a person reads of a result, and a model of an error.
fn shorten(text: &str) -> String {
    const MOST: usize = 400;
    match text.len() > MOST {
        true => format!("{} …", &text[..text.floor_char_boundary(MOST)]),
        false => text.to_owned(),
    }
}
