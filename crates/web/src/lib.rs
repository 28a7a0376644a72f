//! Reads and pictures pages of the public web for a model.
//!
//! Others choose the addresses, and the pages are written by strangers. So the guard checks every
//! address on the way, only https is spoken, and everything is limited: time, bytes, depth.
//!
//! # Layout
//! - `address`: the address of a page, checked
//! - `roots`: the operator's own certificate authorities
//! - `reader`: a page as text
//! - `browser`: a page as a picture

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
