//! Pages of real sites over HTTPS, read and pictured.

mod browser;
mod hostile_pages;
mod processes;
mod reader;
mod site;
