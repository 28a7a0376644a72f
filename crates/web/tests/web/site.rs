//! The sites of the tests, and their guard.

use std::net::IpAddr;
use std::sync::Arc;

use kitbag_fetch::AddressGuard;
use kitbag_web::RootCertificates;

use kitbag_testkit::site::{PUBLIC, authority};
pub(crate) use kitbag_testkit::site::{closed_port, private_port, serve, serve_plain};

/// Allows only the public address.
pub(crate) fn guard() -> AddressGuard {
    Arc::new(|address: IpAddr| match address == IpAddr::from(PUBLIC) {
        true => Ok(()),
        false => Err(format!("{address} is private")),
    })
}

/// Allows all addresses of this machine, so that names can be resolved, too.
pub(crate) fn open_guard() -> AddressGuard {
    Arc::new(|_| Ok(()))
}

pub(crate) fn roots() -> RootCertificates {
    RootCertificates::from_pem(&authority()).expect("our own certificate")
}
