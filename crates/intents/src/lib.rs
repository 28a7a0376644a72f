//! Finds the program or tool that carries out a request in words, and learns from successful
//! programs.
//!
//! Pure: files, times, vectors and results are passed in, and nothing runs here.
//!
//! # Layout
//! - [`template`]: a program that carries out an intent, read from a TOML file and checked
//! - [`pattern`]: an intent with placeholders for parameters; `words`: a request, folded for
//!   comparison
//! - [`set`]: all templates, and the best match for a request; [`built_in`]: the templates of the
//!   binary
//! - [`binding`]: the servers behind a template's names
//! - [`arguments`]: a tool's arguments, read from the words by its schema
//! - [`automatic`]: intents that simple reading tools answer without any template
//! - [`cache`]: cached results; [`canonical`]: one spelling for equal JSON
//! - [`route`]: the steps of a request, and the step after a failed one
//! - [`discovery`]: requests to find a tool
//! - [`learning`]: templates learned from successful programs

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
