//! Addresses that mislead, or whose traffic others on the way can read and change.

use std::net::IpAddr;

use url::{Host, Url};

use super::Danger;

/// Returns the dangers of the address of a server.
pub(super) fn dangers(text: &str) -> Vec<Danger> {
    let misleading = misleading(text).map(|reason| Danger::new(text, reason));
    open(text).into_iter().chain(misleading).collect()
}

fn misleading(text: &str) -> Option<&'static str> {
    let Ok(url) = Url::parse(text) else {
        return Some("where this leads cannot be told");
    };
    let mut parts = text.split('/');
    // The host stands behind the two slashes of the scheme.
    if parts.nth(2).is_some_and(|host| host.contains("${")) {
        Some("where this leads depends on a variable")
    } else if !url.username().is_empty() {
        Some("what stands before the @ is a user, not the host")
    } else if url.host_str().is_some_and(|host| host.contains("xn--")) {
        Some("its host has letters that may look like others")
    } else {
        None
    }
}

/// Finds an address in a word that is reached without encryption.
pub(super) fn open(word: &str) -> Option<Danger> {
    const REASON: &str = "http: others on the way can read and change what is sent";
    let at = word.to_ascii_lowercase().find("http://")?;
    let address = &word[at..];
    (!leads_to_this_machine(address)).then(|| Danger::new(address, REASON))
}

fn leads_to_this_machine(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| url.host().is_some_and(|host| is_this_machine(&host)))
}

fn is_this_machine(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(ip) => IpAddr::V4(*ip).is_loopback(),
        Host::Ipv6(ip) => IpAddr::V6(*ip).is_loopback(),
    }
}
