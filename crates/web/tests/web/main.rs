//! Pages of real sites over HTTPS, read as text and captured as screenshots.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod browser;
mod hostile_pages;
mod processes;
mod reader;
mod site;
