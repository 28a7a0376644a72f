//! A template as users write it, and the checks that turn it into a template.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{IntentTemplate, TemplateParameters, TemplateProblem, ToolUse, pasting};
use crate::pattern::IntentPattern;

/// The keys of a template. The tables of parameters come last, as TOML requires.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TemplateText {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) intents: Vec<String>,
    #[serde(default)]
    pub(crate) uses: Vec<String>,
    #[serde(default = "reads")]
    pub(crate) read_only: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cache_seconds: Option<u64>,
    pub(crate) code: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) parameters: BTreeMap<String, Value>,
}

/// A problem, and the keys that lead to its position; a number is an index into a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpottedProblem {
    pub(crate) spot: Vec<String>,
    /// The byte offset within the text at that position.
    pub(crate) offset: usize,
    pub problem: TemplateProblem,
}

fn reads() -> bool {
    true
}

/// A day. An older result would seldom be useful.
const MAX_CACHE: u64 = 86_400;
const MAX_DESCRIPTION: usize = 1_000;
/// A larger program should be a tool; the sandbox accepts no larger one.
pub(super) const MAX_CODE: usize = 32 * 1024;
const MAX_INTENTS: usize = 32;
const MAX_USES: usize = 32;

impl TemplateText {
    pub(super) fn check(self) -> Result<IntentTemplate, SpottedProblem> {
        self.check_sizes()?;
        self.check_cache()?;
        let name = self.name.parse().map_err(at(&["name"]))?;
        let parameters = self.parameters()?;
        let intents = self.intents(&parameters)?;
        let uses = self.uses()?;
        self.check_code(&parameters)?;
        Ok(IntentTemplate {
            name,
            description: self.description,
            intents,
            uses,
            read_only: self.read_only,
            cache_for: self.cache_seconds.map(Duration::from_secs),
            code: self.code,
            parameters,
        })
    }

    fn check_sizes(&self) -> Result<(), SpottedProblem> {
        length("description", &self.description, MAX_DESCRIPTION)?;
        length("code", &self.code, MAX_CODE)?;
        number("intents", self.intents.len(), MAX_INTENTS)?;
        number("uses", self.uses.len(), MAX_USES)?;
        let parameters = self.parameters.len();
        number("parameters", parameters, TemplateParameters::MAX)?;
        if self.intents.is_empty() {
            return Err(at(&["intents"])(TemplateProblem::Empty { key: "intents" }));
        }
        Ok(())
    }

    fn check_cache(&self) -> Result<(), SpottedProblem> {
        let problem = match self.cache_seconds {
            Some(_) if !self.read_only => TemplateProblem::CacheOfWrites,
            Some(MAX_CACHE..) => TemplateProblem::CacheTooLong { most: MAX_CACHE },
            _ => return Ok(()),
        };
        Err(at(&["cache_seconds"])(problem))
    }

    fn parameters(&self) -> Result<TemplateParameters, SpottedProblem> {
        let mut parameters = TemplateParameters::default();
        for (name, schema) in &self.parameters {
            let added = parameters.add(name, schema);
            added.map_err(|mistake| {
                let name = name.clone();
                let spot = at(&["parameters", &name.clone()]);
                spot(TemplateProblem::Parameter { name, mistake })
            })?;
        }
        Ok(parameters)
    }

    fn intents(
        &self,
        parameters: &TemplateParameters,
    ) -> Result<Vec<IntentPattern>, SpottedProblem> {
        let intents = self.intents.iter().enumerate();
        intents
            .map(|(number, intent)| {
                read_intent(intent, parameters).map_err(at(&["intents", &number.to_string()]))
            })
            .collect()
    }

    fn uses(&self) -> Result<Vec<ToolUse>, SpottedProblem> {
        let uses = self.uses.iter().enumerate();
        uses.map(|(number, text)| text.parse().map_err(at(&["uses", &number.to_string()])))
            .collect()
    }

    fn check_code(&self, parameters: &TemplateParameters) -> Result<(), SpottedProblem> {
        let Some(pasted) = pasting::find(&self.code, parameters) else {
            return Ok(());
        };
        Err(SpottedProblem {
            spot: vec!["code".to_owned()],
            offset: pasted.offset,
            problem: TemplateProblem::PastedText {
                found: pasted.found,
            },
        })
    }
}

fn read_intent(
    intent: &str,
    parameters: &TemplateParameters,
) -> Result<IntentPattern, TemplateProblem> {
    let pattern = IntentPattern::parse(intent).map_err(|mistake| TemplateProblem::Intent {
        intent: intent.to_owned(),
        mistake,
    })?;
    for placeholder in pattern.placeholders() {
        let (intent, name) = (intent.to_owned(), placeholder.name.clone());
        let Some(schema) = parameters.schema_of(&name) else {
            return Err(TemplateProblem::UnknownParameter { intent, name });
        };
        if schema["type"] == "array" {
            return Err(TemplateProblem::ListInIntent { intent, name });
        }
    }
    Ok(pattern)
}

fn length(key: &'static str, text: &str, most: usize) -> Result<(), SpottedProblem> {
    let problem = match text.len() {
        _ if text.trim().is_empty() => TemplateProblem::Empty { key },
        length if length > most => TemplateProblem::TooLong { key, most },
        _ => return Ok(()),
    };
    Err(at(&[key])(problem))
}

fn number(key: &'static str, found: usize, most: usize) -> Result<(), SpottedProblem> {
    if found <= most {
        return Ok(());
    }
    Err(at(&[key])(TemplateProblem::TooMany { key, most }))
}

/// Attaches the keys of its position to a problem.
fn at<P: Into<TemplateProblem>>(spot: &[&str]) -> impl Fn(P) -> SpottedProblem + use<P> {
    let spot: Vec<String> = spot.iter().map(|&key| key.to_owned()).collect();
    move |problem| SpottedProblem {
        spot: spot.clone(),
        offset: 0,
        problem: problem.into(),
    }
}

impl From<IntentTemplate> for TemplateText {
    fn from(template: IntentTemplate) -> Self {
        let intents = template.intents.iter();
        Self {
            name: template.name.into(),
            description: template.description,
            intents: intents.map(ToString::to_string).collect(),
            uses: template.uses.iter().map(ToString::to_string).collect(),
            read_only: template.read_only,
            cache_seconds: template.cache_for.map(|it| it.as_secs()),
            code: template.code,
            parameters: template.parameters.to_values(),
        }
    }
}

impl fmt::Display for SpottedProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}
