//! Who asks: the key, the header it goes in, and what else an endpoint wants to be told there.

use std::fmt;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};

use crate::dialect::Dialect;

#[derive(Clone, Default)]
pub struct Access {
    pub key: Option<String>,
    /// Where the format's own header would not be understood.
    pub key_header: Option<HeaderName>,
    /// Sent along, and kept as quiet as the key: nobody knows what they hold.
    pub headers: HeaderMap,
}

impl Access {
    /// All headers of a request; an error if the key cannot be in one.
    pub(crate) fn headers(&self, dialect: Dialect) -> Result<HeaderMap, InvalidHeaderValue> {
        let mut headers = dialect.headers();
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

    /// The text without our secrets, should somebody repeat them.
    pub(crate) fn hidden_in(&self, text: &str) -> String {
        let headers = self.headers.values().filter_map(|it| it.to_str().ok());
        // Whatever is shorter than this is no secret, and may be part of a word.
        let long = headers.filter(|it| it.len() >= 8);
        let secrets = self
            .key
            .as_deref()
            .filter(|it| !it.is_empty())
            .into_iter()
            .chain(long);
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
        assert_eq!(access.headers(dialect).unwrap()[name], value);
        assert!(!format!("{access:?}").contains("s3cret"));
    }

    #[test]
    fn the_key_goes_where_the_endpoint_looks_for_it() {
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
    fn what_somebody_repeats_of_our_secrets_is_not_shown() {
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
            access.hidden_in("no s3cret, no very-secret in 1"),
            "no ***, no *** in 1"
        );
    }
}
