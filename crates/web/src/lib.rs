//! Reads and pictures pages of the public web for a model.
//!
//! Others choose the addresses, and the pages are written by strangers. So every address on the way
//! is put before the guard, only https is spoken, and everything has a bound: time, bytes, depth.
//!
//! # Layout
//! - `address`: the address of a page, checked
//! - `roots`: certificate authorities of the operator's own
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
