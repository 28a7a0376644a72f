//! Addresses that mislead, or whose traffic others on the network can read and change.

use url::{Host, Url};

use super::Danger;

/// Returns the dangers of a server's address.
pub(super) fn dangers(text: &str) -> Vec<Danger> {
    let misleading = misleading_reason(text).map(|reason| Danger::new(text, reason));
    unencrypted_address(text)
        .into_iter()
        .chain(misleading)
        .collect()
}

fn misleading_reason(text: &str) -> Option<&'static str> {
    let Ok(url) = Url::parse(text) else {
        return Some("its destination cannot be determined");
    };
    let mut parts = text.split('/');
    // The host follows the scheme's two slashes.
    if parts.nth(2).is_some_and(|host| host.contains("${")) {
        Some("its destination depends on a variable")
    } else if !url.username().is_empty() {
        Some("the part before the @ is a user, not the host")
    } else if url.host_str().is_some_and(|host| host.contains("xn--")) {
        Some("its host has letters that may look like others")
    } else {
        None
    }
}

/// Finds an address in a word that is reached without encryption.
pub(super) fn unencrypted_address(word: &str) -> Option<Danger> {
    const REASON: &str = "http: others on the network can read and change the traffic";
    let at = word.to_ascii_lowercase().find("http://")?;
    let address = &word[at..];
    let url = Url::parse(address).ok();
    let is_local = url
        .as_ref()
        .and_then(Url::host)
        .is_some_and(|host| match host {
            Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
            Host::Ipv4(ip) => ip.is_loopback(),
            Host::Ipv6(ip) => ip.is_loopback(),
        });
    (!is_local).then(|| Danger::new(address, REASON))
}
