//! The addresses that a tool's requests may reach.

use kitbag_tool_spec::{FillValues, TextPattern};
use url::Url;

use super::{ActionFault, DeclaredApi};
use crate::fault::{RequestFault, origin_of};
use crate::request::PendingRequest;

impl DeclaredApi {
    /// Returns the base of all addresses, for the tenant of the call.
    pub(super) fn base_url(&self, values: &FillValues<'_>) -> Result<Url, ActionFault> {
        if let Some(url) = &self.overrides.url {
            return Ok(url.clone());
        }
        let url = fill_url(&self.declaration.url, values)?;
        if !self.may_reach(&url) {
            let host = url.host_str().unwrap_or_default();
            return Err(config_invalid(format!("`{host}` is not one of its hosts")));
        }
        Ok(url)
    }

    /// Returns the address of the token endpoint. The file names it, so it need not be one of the
    /// hosts.
    pub(super) fn token_address(
        &self,
        declared: &TextPattern,
        values: &FillValues<'_>,
    ) -> Result<Url, ActionFault> {
        or_declared(self.overrides.token_url.as_ref(), declared, values)
    }

    /// Returns the folder for images. The file names it, so it need not be one of the hosts.
    pub(super) fn storage_address(
        &self,
        declared: &TextPattern,
        values: &FillValues<'_>,
    ) -> Result<Url, ActionFault> {
        or_declared(self.overrides.storage_url.as_ref(), declared, values)
    }

    /// Checks a request after a redirect.
    pub(super) fn check_redirect(&self, request: &PendingRequest) -> Result<(), ActionFault> {
        if self.may_reach(&request.url) || self.is_overridden_by(&request.url) {
            return Ok(());
        }
        let reason = format!(
            "to {}, which is not one of its hosts",
            origin_of(&request.url)
        );
        Err(RequestFault::redirect(reason).into())
    }

    fn may_reach(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        url.scheme() == "https" && self.declaration.may_reach(host)
    }

    fn is_overridden_by(&self, url: &Url) -> bool {
        let own = self.overrides.url.as_ref();
        own.is_some_and(|own| own.origin() == url.origin())
    }
}

/// Returns the operator's address, or else the declared one.
fn or_declared(
    chosen: Option<&Url>,
    declared: &TextPattern,
    values: &FillValues<'_>,
) -> Result<Url, ActionFault> {
    chosen.map_or_else(|| fill_url(declared, values), |url| Ok(url.clone()))
}

fn fill_url(pattern: &TextPattern, values: &FillValues<'_>) -> Result<Url, ActionFault> {
    for word in pattern.placeholders() {
        let value = word.text(values).unwrap_or_default();
        if !is_plain(&value) {
            let field = word.credential_field().unwrap_or_default();
            return Err(config_invalid(format!(
                "the field `{field}` of its credential cannot be a part of an address"
            )));
        }
    }
    let text = pattern.fill(values).unwrap_or_default();
    let url = Url::parse(&text)
        .map_err(|error| config_invalid(format!("its URL is invalid: {error}")))?;
    if url.scheme() != "https" {
        return Err(config_invalid("its address does not begin with `https:`"));
    }
    Ok(url)
}

/// A value with any other character could lead to another host or path.
fn is_plain(value: &str) -> bool {
    let letters = value
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    letters && !value.is_empty() && !value.contains("..")
}

fn config_invalid(reason: impl Into<String>) -> ActionFault {
    ActionFault::ConfigInvalid {
        reason: reason.into(),
    }
}
