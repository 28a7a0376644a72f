//! Clients of one era and servers of either, and all that passes between them beside results.
//!
//! # Layout
//! - [`signals`]: progress, cancellation, log lines
//! - [`questions`]: sampling, forms, pages to visit, roots; [`tickets`]: coming back with answers
//! - [`strangers`]: two clients at one server, each with its own questions
//! - [`late`]: what a server says after it has answered the call it is about
//! - [`roots`]: servers that ask for roots between calls
//! - [`offers`]: prompts, resources, completion; [`changes`]: hearing that they changed
//! - [`tasks`]: calls that go on after their answer

mod changes;
mod late;
mod offers;
mod questions;
mod roots;
mod signals;
mod strangers;
mod tasks;
mod tickets;
