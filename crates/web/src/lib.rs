//! Fetches pages of the public web for a model, as text or as a screenshot.
//!
//! Neither the addresses nor the pages are trusted. So the guard checks every address on the way,
//! only https is used, and everything is limited: time, bytes, depth.
//!
//! # Layout
//! - `address`: the address of a page, checked
//! - `roots`: the operator's own certificate authorities
//! - `reader`: a page as text
//! - `browser`: a page as a screenshot

mod address;
mod browser;
mod reader;
mod roots;

pub use address::AddressError;
pub use browser::{
    Browser, BrowserError, BrowserSettings, ImageFormat, Screenshot, ScreenshotRequest,
};
pub use reader::{
    PageContent, PageError, PageFormat, PageReader, PageRequest, ReaderService, ReaderSettings,
    WebPage,
};
pub use roots::{RootCertificates, RootsError};
