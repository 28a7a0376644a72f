//! The credentials of a request: the key, its header, and other headers that an endpoint needs.

use std::fmt;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};

use crate::dialect::Dialect;

/// A shorter header value is not a secret, and may be part of a word.
const MIN_SECRET: usize = 8;

#[derive(Clone, Default)]
pub struct Access {
    pub key: Option<String>,
    /// The header for the key, if the endpoint does not support the usual header of the format.
    pub key_header: Option<HeaderName>,
    /// Further headers of every request. They are as secret as the key, because they may contain
    /// secrets.
    pub headers: HeaderMap,
}

impl Access {
    /// Returns all headers of a request, or an error if the key cannot be in a header.
    pub(crate) fn request_headers(
        &self,
        dialect: Dialect,
    ) -> Result<HeaderMap, InvalidHeaderValue> {
        let mut headers = dialect.required_headers();
        headers.extend(self.headers.clone());
        if let Some(key) = &self.key {
            let name = self
                .key_header
                .clone()
                .unwrap_or_else(|| dialect.key_header());
            let scheme = if name == AUTHORIZATION { "Bearer " } else { "" };
            let mut value = HeaderValue::try_from(format!("{scheme}{key}"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// Masks the access secrets in a text, in case an endpoint repeats them.
    pub(crate) fn mask_secrets(&self, text: &str) -> String {
        let headers = self.headers.values().filter_map(|it| it.to_str().ok());
        let long = headers.filter(|it| it.len() >= MIN_SECRET);
        let key = self.key.as_deref().filter(|it| !it.is_empty());
        let secrets = key.into_iter().chain(long);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.keys().collect();
        f.debug_struct("Access")
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, key_header: Option<&str>, name: &str, value: &str) {
        let key_header = key_header.map(|it| it.parse().unwrap());
        let access = Access {
            key: Some("s3cret".to_owned()),
            key_header,
            ..Access::default()
        };
        assert_eq!(access.request_headers(dialect).unwrap()[name], value);
        assert!(!format!("{access:?}").contains("s3cret"));
    }

    #[test]
    fn the_key_is_sent_in_the_header_of_the_endpoint() {
        check(Dialect::OpenAi, None, "authorization", "Bearer s3cret");
        check(Dialect::OpenAi, Some("api-key"), "api-key", "s3cret");
        check(Dialect::Anthropic, None, "x-api-key", "s3cret");
        check(
            Dialect::Anthropic,
            Some("Authorization"),
            "authorization",
            "Bearer s3cret",
        );
    }

    #[test]
    fn secrets_repeated_by_an_endpoint_are_masked() {
        let headers = HeaderMap::from_iter([
            (
                HeaderName::from_static("x-project"),
                HeaderValue::from_static("very-secret"),
            ),
            (
                HeaderName::from_static("x-tier"),
                HeaderValue::from_static("1"),
            ),
        ]);
        let access = Access {
            key: Some("s3cret".to_owned()),
            key_header: None,
            headers,
        };
        assert_eq!(
            access.mask_secrets("no s3cret, no very-secret in 1"),
            "no ***, no *** in 1"
        );
    }
}
