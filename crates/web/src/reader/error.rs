//! The failures of reading a page, each with the responsible side and advice.

use std::time::Duration;

use kitbag_domain::{MissingVariable, Remedy};
use kitbag_fetch::guard::AddressRefusal;

use crate::AddressError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("the page was not fetched: `{host}` is not an allowed destination: {reason}")]
    Refused { host: String, reason: String },
    #[error("{origin} could not be reached: {reason}")]
    Unreachable { origin: String, reason: String },
    #[error("{origin} redirects {reason}")]
    Redirect { origin: String, reason: String },
    #[error("the site redirects more than {max} times")]
    TooManyRedirects { max: usize },
    #[error("the page did not arrive within {after:?}")]
    TimedOut { after: Duration },
    #[error("the page has more than {max} bytes")]
    TooLarge { max: usize },
    #[error("the site broke off in the middle of the page: {reason}")]
    Lost { reason: String },
    #[error("the site sent the page compressed with `{encoding}`, which was not asked for")]
    Encoded { encoding: String },
    #[error("the page is `{media_type}`, which cannot be shown as Markdown")]
    NotText { media_type: String },
    #[error("the page is a PDF, which cannot be shown as Markdown without a reader service")]
    Pdf,
    #[error(
        "the page is `{media_type}` and takes {chars} characters as Base64; at most {max_chars} were asked for"
    )]
    TooManyChars {
        media_type: String,
        chars: usize,
        max_chars: usize,
    },
    #[error("the HTML of the page could not be turned into Markdown")]
    Unparsable,
    #[error("the token of the reader service cannot be used: {0}")]
    ServiceToken(#[from] MissingVariable),
    #[error("the reader service {service} did not read the page: {reason}")]
    Service { service: String, reason: String },
}

impl Remedy for PageError {
    fn remedy(&self) -> Option<String> {
        let advice = match self {
            Self::Address(error) => return error.remedy(),
            Self::ServiceToken(missing) => return missing.remedy(),
            Self::Unreachable { reason, .. } if reason.contains("certificate") => {
                "if the site's certificate is signed by an authority of your own, the operator can name it in `certificate_authorities` under [web]"
            }
            Self::Unreachable { .. } => "check the name in the address",
            Self::TimedOut { .. } | Self::Lost { .. } => "try again later, or another page",
            Self::TooLarge { .. } => "look for a smaller page, such as one part of it",
            Self::NotText { .. } | Self::Encoded { .. } | Self::Unparsable => {
                "ask for the raw page"
            }
            Self::Pdf => {
                "ask for the raw page, look for the same text as HTML, or let the operator set a reader service"
            }
            Self::TooManyChars { .. } => "ask for more characters, if you need them",
            Self::Service { .. } => {
                "ask for the raw page, or let the operator check the reader service"
            }
            Self::Refused { .. } => REFUSED,
            Self::Redirect { .. } | Self::TooManyRedirects { .. } => {
                "ask for the page's current address, if you know it"
            }
        };
        Some(advice.to_owned())
    }
}

/// The advice for an address that the guard rejects.
pub(crate) const REFUSED: &str = "ask for a page of the public web; the operator can permit other addresses with `allow_addresses` under [web]";

impl From<AddressRefusal> for PageError {
    fn from(AddressRefusal { host, reason }: AddressRefusal) -> Self {
        Self::Refused { host, reason }
    }
}
