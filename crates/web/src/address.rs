//! The address of a page: https, and without a login.

use kitbag_domain::Remedy;
use url::Url;

/// The caller wrote an address that no page can be fetched from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("this is not a web address: {reason}")]
    NotAnAddress { reason: String },
    #[error("`{scheme}:` addresses are not fetched, only `https:` ones")]
    NotHttps { scheme: String },
    #[error("the address has a user or a password in it, and logins are never sent to pages")]
    HasLogin,
}

/// Returns the address without its fragment, which is not sent.
pub(crate) fn parse_address(text: &str) -> Result<Url, AddressError> {
    let url = Url::parse(text.trim()).map_err(|error| AddressError::NotAnAddress {
        reason: error.to_string(),
    })?;
    check_address(&url)?;
    Ok(url)
}

/// Checks an address from any source, including redirects.
pub(crate) fn check_address(url: &Url) -> Result<(), AddressError> {
    if url.scheme() != "https" {
        return Err(AddressError::NotHttps {
            scheme: url.scheme().to_owned(),
        });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::HasLogin);
    }
    Ok(())
}

/// Returns scheme, host and port, the parts of an address that may be shown.
pub(crate) fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

impl Remedy for AddressError {
    fn remedy(&self) -> Option<String> {
        let advice = match self {
            Self::NotAnAddress { .. } => "give the whole address, such as https://example.com/page",
            Self::NotHttps { .. } => "try the same address with https://",
            Self::HasLogin => "leave out the part before the `@`",
        };
        Some(advice.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_addresses_without_a_login_are_taken() {
        for (text, expected) in [
            ("https://example.com/a?b=c", ""),
            ("  https://example.com ", ""),
            ("HTTPS://EXAMPLE.com", ""),
            ("http://example.com", "`http:` addresses are not fetched"),
            ("file:///etc/passwd", "`file:` addresses are not fetched"),
            ("data:text/html,hi", "`data:` addresses are not fetched"),
            ("chrome://version", "`chrome:` addresses are not fetched"),
            (
                "view-source:https://a.b",
                "`view-source:` addresses are not",
            ),
            ("https://ann:pw@example.com", "has a user or a password"),
            ("https://ann@example.com", "has a user or a password"),
            ("example.com", "not a web address: relative URL"),
            ("https://", "not a web address: empty host"),
        ] {
            let found =
                parse_address(text).map_or_else(|error| error.to_string(), |_| String::new());
            assert!(found.contains(expected), "{text}: {found}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{text}: {found}");
        }
    }
}
