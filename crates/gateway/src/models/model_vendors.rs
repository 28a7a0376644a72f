//! The addresses and keys of the vendors of models.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use kitbag_config::{ForeignTools, ModelVendor, Models};
use kitbag_domain::{Lookup, MissingVariable};
use kitbag_llm::tool_schema::Vendor;
use percent_encoding::percent_decode_str;
use url::Url;

/// The header of Anthropic's API keys.
pub(crate) const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

pub(crate) struct ModelVendors {
    settings: Models,
    lookup: Lookup,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum VendorError {
    #[error("this path is outside the vendor's base URL")]
    OutsidePath,
    #[error("the vendor's configured key is unavailable: {0}")]
    NoKey(#[from] MissingVariable),
    #[error(
        "the vendor's configured key has characters that HTTP does not allow; store it again with \
         `kitbag secret set`"
    )]
    OddKey,
}

impl ModelVendors {
    pub(crate) fn new(settings: &Models, lookup: &Lookup) -> Self {
        Self {
            settings: settings.clone(),
            lookup: lookup.clone(),
        }
    }

    pub(crate) fn are_enabled(&self) -> bool {
        self.settings.enabled
    }

    pub(crate) fn foreign_tools(&self) -> ForeignTools {
        self.settings.foreign_tools
    }

    pub(crate) fn max_body_bytes(&self) -> usize {
        self.settings.max_body_bytes
    }

    /// Returns the vendor's origin, for messages.
    pub(crate) fn vendor_origin(&self, vendor: Vendor) -> String {
        self.settings_for(vendor).url.origin().ascii_serialization()
    }

    /// Returns the URL of a path at the vendor. It is always below the configured address, however
    /// dots and slashes are encoded.
    pub(crate) fn vendor_url(
        &self,
        vendor: Vendor,
        path_and_query: &str,
    ) -> Result<Url, VendorError> {
        let base = &self.settings_for(vendor).url;
        let root = base.as_str().trim_end_matches('/');
        if !stays_below_root(path_and_query) {
            return Err(VendorError::OutsidePath);
        }
        let url = Url::parse(&format!("{root}{path_and_query}"));
        let below = format!("{}/", base.path().trim_end_matches('/'));
        url.ok()
            .filter(|url| url.origin() == base.origin() && url.path().starts_with(&below))
            .ok_or(VendorError::OutsidePath)
    }

    /// Replaces the client's key with the operator's, if one is configured.
    pub(crate) fn put_key(
        &self,
        vendor: Vendor,
        headers: &mut HeaderMap,
    ) -> Result<(), VendorError> {
        let Some(key) = &self.settings_for(vendor).key else {
            return Ok(());
        };
        let key = key.resolve(|name| (self.lookup)(name))?;
        headers.remove(AUTHORIZATION);
        headers.remove(X_API_KEY);
        let (name, text) = match vendor {
            Vendor::Anthropic => (X_API_KEY, key),
            Vendor::OpenAi => (AUTHORIZATION, format!("Bearer {key}")),
        };
        let mut value = HeaderValue::try_from(text).map_err(|_| VendorError::OddKey)?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }

    fn settings_for(&self, vendor: Vendor) -> &ModelVendor {
        match vendor {
            Vendor::Anthropic => &self.settings.anthropic,
            Vendor::OpenAi => &self.settings.openai,
        }
    }
}

/// No path of a vendor has more layers of percent-encoding.
const MAX_ENCODINGS: usize = 4;

/// False for a path with a parent segment, however the vendor reads it: servers may decode a path
/// twice, treat a backslash as a slash, or ignore the text after a semicolon.
fn stays_below_root(path_and_query: &str) -> bool {
    let path = path_and_query
        .split_once('?')
        .map_or(path_and_query, |(path, _)| path);
    let mut path = path.to_owned();
    for _ in 0..MAX_ENCODINGS {
        if path.contains(char::is_control) || path.split(['/', '\\']).any(is_parent_segment) {
            return false;
        }
        let Ok(decoded) = percent_decode_str(&path).decode_utf8() else {
            // Some decoders read dots and slashes from invalid UTF-8.
            return false;
        };
        if decoded == path {
            return true;
        }
        path = decoded.into_owned();
    }
    false
}

fn is_parent_segment(segment: &str) -> bool {
    let name = segment.split(';').next().unwrap_or_default();
    name.trim() == ".."
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn vendors(base: &str) -> ModelVendors {
        let vendor = ModelVendor {
            url: base.parse().expect("a URL"),
            key: None,
        };
        let settings = Models {
            enabled: true,
            foreign_tools: ForeignTools::Keep,
            max_body_bytes: 0,
            anthropic: vendor.clone(),
            openai: vendor,
        };
        ModelVendors::new(&settings, &(Arc::new(|_: &str| None) as Lookup))
    }

    #[track_caller]
    fn check(base: &str, path: &str, expect: Option<&str>) {
        let url = vendors(base).vendor_url(Vendor::OpenAi, path).ok();
        assert_eq!(url.as_ref().map(Url::as_str), expect, "{base} {path}");
    }

    #[test]
    fn a_path_stays_below_the_address_of_the_vendor() {
        check(
            "https://a.example",
            "/v1/x?y=%2F",
            Some("https://a.example/v1/x?y=%2F"),
        );
        check(
            "https://a.example/api",
            "/v1/x",
            Some("https://a.example/api/v1/x"),
        );
        check("https://a.example/api", "/../x", None);
        check("https://a.example/api", "/v1/%2e%2E/../x", None);
        check(
            "https://a.example",
            "//evil.example/x",
            Some("https://a.example//evil.example/x"),
        );
        check("https://a.example", "@evil.example/x", None);
    }

    #[test]
    fn no_spelling_of_two_dots_passes() {
        for up in [
            "/v1/../v1/x",
            "/v1/..",
            "/v1/..%2f..%2fadmin",
            "/v1/%2E%2e%2Fadmin",
            "/v1/%252e%252E/x",
            "/v1/%25252e./x",
            "/\\..\\x",
            "/v1%5c..%5Cx",
            "/v1%5C%2e.%5cx",
            "/v1/..;a=b/x",
            "/v1/..%3bx/y",
            "/v1/%20../x",
            "/v1/..%00/x",
            "/v1/%c0%ae%c0%ae/x",
            "/v1/x%0d%0aHost:evil",
            "/v1/%2525252525252e/x",
        ] {
            check("https://a.example", up, None);
            check("https://a.example/api", up, None);
        }
        for fine in [
            "/v1/a..b/x",
            "/v1/...",
            "/v1/x?next=../y%2f..",
            "/v1/a%2Fb;c",
            "/v1/%C3%A9",
        ] {
            let whole = format!("https://a.example{fine}");
            check("https://a.example", fine, Some(&whole));
        }
    }
}
