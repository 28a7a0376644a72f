//! Finds which program or tool carries out a request in words, and learns from programs that
//! worked.
//!
//! Pure: files, times, vectors and results are handed in, and nothing is run here.
//!
//! # Layout
//! - [`template`]: a program that carries out an intent, read from a TOML file and checked
//! - [`pattern`]: an intent with places for parameters; `words`: a request, folded for comparison
//! - [`set`]: all templates, and the one that fits a request; [`built_in`]: those of the binary
//! - [`binding`]: the servers that a template's names stand for
//! - [`arguments`]: the arguments of a tool, read from the words by its schema
//! - [`automatic`]: intents that simple reading tools answer without any template
//! - [`cache`]: results that are used again; [`canonical`]: one spelling for equal JSON
//! - [`route`]: the steps that a request takes, and the step after one that failed
//! - [`discovery`]: requests that ask to look for a tool
//! - [`learning`]: templates that come from programs which worked

pub mod arguments;
pub mod automatic;
pub mod binding;
pub mod built_in;
pub mod cache;
pub mod canonical;
pub mod discovery;
pub mod learning;
pub mod pattern;
pub mod route;
pub mod set;
pub mod template;
mod words;

pub use automatic::{AutomaticIntents, DirectCall, OfferedTool};
pub use binding::{BindError, ServerOffer, bind};
pub use cache::{CacheKey, CacheMark, CacheSubject, ResultCache};
pub use discovery::Discovery;
pub use learning::{LearnedState, LearnedTemplate, LearnedUse, ProgramRun, StateChange};
pub use pattern::{IntentPattern, PatternMistake};
pub use route::{ExecutionMode, RouteCounter, RouteEvent, RouteFlags, RouteStep};
pub use set::{MissingParameter, TemplateComplaint, TemplateMatch, TemplateOrigin, TemplateSet};
pub use template::{
    IntentTemplate, ParameterMistake, TemplateFile, TemplateFileError, TemplateName,
    TemplateParameters, TemplateProblem, ToolUse,
};
