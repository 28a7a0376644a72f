//! The command line's access to a gateway: capability tables and their figures, explained searches,
//! priors, evals, trials of templates.
//! Uses every other module through [`Turn`](crate::turn::Turn) and `state`; no module uses it, and
//! no client request comes here.

pub mod app;
mod eval;
pub mod eval_client;
pub mod offers;
pub mod priors_report;
pub mod search;
pub mod search_curve;
pub mod tool_table;
mod trial;
