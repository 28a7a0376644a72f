//! The header, parameter or signature that identifies the owner of a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Request;

use super::aws::AwsSigner;
use crate::fault::RequestFault;

#[derive(Clone)]
pub(crate) enum Proof {
    Nothing,
    Header {
        name: HeaderName,
        value: HeaderValue,
    },
    Parameter {
        name: String,
        value: String,
    },
    Aws(Box<AwsSigner>),
}

impl Proof {
    pub(crate) fn header(name: HeaderName, value: &str) -> Result<Self, RequestFault> {
        let mut value = HeaderValue::try_from(value).map_err(|_| RequestFault::Header {
            reason: format!("the value of the header `{name}` has characters HTTP does not allow"),
        })?;
        value.set_sensitive(true);
        Ok(Self::Header { name, value })
    }

    pub(crate) fn add_to(&self, request: &mut Request) -> Result<(), RequestFault> {
        match self {
            Self::Nothing => {}
            Self::Header { name, value } => {
                let headers = request.headers_mut();
                headers.insert(name.clone(), value.clone());
            }
            Self::Parameter { name, value } => add_parameter(request, name, value),
            Self::Aws(signer) => signer.sign(request)?,
        }
        Ok(())
    }

    /// Returns the text that is sent, if it is a secret other than the credential's own fields.
    pub(crate) fn secret(&self) -> Option<&str> {
        match self {
            Self::Header { value, .. } => value.to_str().ok(),
            Self::Nothing | Self::Parameter { .. } | Self::Aws(_) => None,
        }
    }
}

/// Returns the value of `Authorization` for a user and a password.
pub(crate) fn basic_login(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

fn add_parameter(request: &mut Request, name: &str, value: &str) {
    let url = request.url_mut();
    let [name, value] = [name, value].map(|text| utf8_percent_encode(text, NON_ALPHANUMERIC));
    let query = match url.query() {
        Some(query) if !query.is_empty() => format!("{query}&{name}={value}"),
        _ => format!("{name}={value}"),
    };
    url.set_query(Some(&query));
}
