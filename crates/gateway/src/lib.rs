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
mod contexts;
mod definitions;
pub mod failure;
mod fairness;
pub mod files;
pub mod find;
mod flights;
pub mod follow_store;
pub mod front;
mod gateway;
mod hidden;
pub mod host;
pub mod index;
pub mod inside;
mod intents;
mod kept;
pub mod keyring;
pub mod learned_templates;
pub mod login;
mod measure;
pub mod meter;
pub mod offers;
mod parking;
mod pipeline;
pub mod prompts;
mod providers;
mod readiness;
mod record;
mod refusals;
mod reply;
mod resolve;
pub mod resources;
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
pub mod template_folder;
mod turn;
pub mod vault;
pub mod view;
pub mod workers;
