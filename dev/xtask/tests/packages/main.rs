//! Every package is made, installed, used and removed as a user would, without a network.
//!
//! The packages have the unoptimized binary that was built with the tests.
//!
//! # Layout
//! - [`scene`]: makes packages, and uses what was installed from them
//! - [`archive`], [`debian`], [`wheel`], [`npm`]: one test for the life of each package
//! - [`image`], [`sbom`]: files that are not installed

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod archive;
mod debian;
mod image;
mod npm;
mod sbom;
mod scene;
mod wheel;
