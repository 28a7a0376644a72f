//! Clients of one era and servers of either, and everything besides results that passes between them.
//!
//! # Layout
//! - [`signals`]: progress, cancellation, log lines
//! - [`questions`]: sampling, forms, URLs, roots; [`tickets`]: resuming with answers
//! - [`strangers`]: two clients of one server, each with its own questions
//! - [`late`]: messages that a server sends after answering the call
//! - [`roots`]: servers that ask for roots between calls
//! - [`offers`]: prompts, resources, completion; [`changes`]: change notifications
//! - [`tasks`]: calls that continue after their answer

mod changes;
mod late;
mod offers;
mod questions;
mod roots;
mod signals;
mod strangers;
mod tasks;
mod tickets;
