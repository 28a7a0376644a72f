//! The proxy: takes requests, carries each through the rooms in order, and answers.

#![expect(
    missing_debug_implementations,
    reason = "most of what the program holds of a gateway leads to secrets, and none of it is printed"
)]

pub mod announce;
pub mod app;
pub mod audit;
mod authored;
pub mod background;
mod bridge;
mod call;
pub mod catalog;
mod client;
pub mod clock;
mod completion;
mod consent;
pub mod context_embedding;
mod conversations;
mod definitions;
pub mod failure;
pub mod files;
pub mod find;
mod flights;
pub mod follow_store;
pub mod front;
mod gateway;
pub mod heard;
mod hidden;
pub mod host;
pub mod index;
pub mod inside;
mod intents;
mod kept;
pub mod keyring;
pub mod learned_templates;
mod learning;
pub mod login;
mod measure;
pub mod meter;
mod model_vendors;
mod models;
mod observe;
pub mod offers;
mod parking;
mod pipeline;
pub mod priors;
pub mod priors_report;
pub mod priors_schedule;
pub mod prompts;
mod providers;
mod readiness;
mod record;
mod refusals;
mod reply;
mod resolve;
pub mod resources;
mod row_budget;
mod run;
pub mod search;
mod secrecy;
mod secret;
mod services;
mod session;
pub mod signature;
pub mod store_place;
pub mod surface;
mod tasks;
mod template;
pub mod template_check;
pub mod template_folder;
mod turn;
pub mod vault;
pub mod view;
pub mod workers;
