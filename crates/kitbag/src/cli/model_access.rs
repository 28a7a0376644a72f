//! Access to language models: keys, headers, parameters and limits of requests.

use std::env;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use kitbag_eval::{Access, ModelClient, ModelEndpoint, RequestLimits};
use serde_json::{Map, Value};

use super::failure::Advise as _;
use super::output::Output;

#[derive(Debug, Args)]
#[command(next_help_heading = "Models")]
pub(super) struct ModelAccess {
    /// Variable with the key for models at a URL, or HOST=NAME for one host.
    #[arg(long, value_name = "[HOST=]NAME", value_parser = parse_host_value::<String>)]
    key_env: Vec<HostValue<String>>,
    /// Header for the key, such as api-key.
    #[arg(long, value_name = "[HOST=]HEADER", value_parser = parse_host_value::<HeaderName>)]
    key_header: Vec<HostValue<HeaderName>>,
    /// Extra header for models at a URL; for keys, use --key-env.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_header)]
    header: Vec<(HeaderName, HeaderValue)>,
    /// Extra request parameter, such as temperature=0.
    #[arg(long, value_name = "NAME=JSON", value_parser = parse_parameter)]
    param: Vec<(String, Value)>,
    /// Maximum requests per minute to each model.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rpm: Option<u32>,
    /// Time limit for an answer, in seconds.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
    /// Number of retries when a model is busy or fails.
    #[arg(long, value_name = "N", default_value_t = 5)]
    retries: u32,
}

/// A value for one host, or for every URL.
#[derive(Debug, Clone)]
struct HostValue<T> {
    host: Option<String>,
    value: T,
}

impl ModelAccess {
    pub(super) fn parameters(&self) -> Map<String, Value> {
        self.param.iter().cloned().collect()
    }

    pub(super) fn open_client(
        &self,
        endpoint: ModelEndpoint,
        output: Output,
    ) -> anyhow::Result<ModelClient> {
        let access = self.endpoint_access(&endpoint)?;
        if access.key.is_some() && endpoint.is_unencrypted() {
            output.warn(&format!("the key for {endpoint} is sent unencrypted"));
        }
        Ok(ModelClient::new(endpoint, access, self.request_limits())?)
    }

    /// Rejects options that apply to none of these models.
    pub(super) fn check_options(&self, endpoints: &[ModelEndpoint]) -> anyhow::Result<()> {
        let hosts: Vec<_> = endpoints
            .iter()
            .filter(|it| it.key_variable().is_none())
            .map(ModelEndpoint::host)
            .collect();
        let given = [
            ("--key-env", !self.key_env.is_empty()),
            ("--key-header", !self.key_header.is_empty()),
            ("--header", !self.header.is_empty()),
        ];
        if let Some((flag, _)) = given.iter().find(|(_, is)| *is && hosts.is_empty()) {
            bail!(
                "{flag} is only for models at a URL; others use ANTHROPIC_API_KEY and OPENAI_API_KEY"
            );
        }
        let named = self
            .key_env
            .iter()
            .map(|it| &it.host)
            .chain(self.key_header.iter().map(|it| &it.host));
        if let Some(host) = named.flatten().find(|host| !hosts.contains(&host.as_str())) {
            bail!("no --model uses host {host}");
        }
        Ok(())
    }

    fn request_limits(&self) -> RequestLimits {
        RequestLimits {
            timeout: Duration::from_secs(self.timeout),
            retries: self.retries,
            first_pause: Duration::from_secs(1),
            per_minute: self.rpm,
        }
    }

    /// A vendor's key is sent only to the vendor; other hosts get the key given for them.
    fn endpoint_access(&self, endpoint: &ModelEndpoint) -> anyhow::Result<Access> {
        if let Some(variable) = endpoint.key_variable() {
            return Ok(Access {
                key: Some(read_key(endpoint, variable)?),
                ..Access::default()
            });
        }
        let variable = HostValue::find_for_host(&self.key_env, endpoint.host());
        Ok(Access {
            key: variable
                .map(|variable| read_key(endpoint, variable))
                .transpose()?,
            key_header: HostValue::find_for_host(&self.key_header, endpoint.host()).cloned(),
            headers: HeaderMap::from_iter(self.header.iter().cloned()),
        })
    }
}

impl<T> HostValue<T> {
    /// Returns the value for this host, or else the value for all hosts.
    fn find_for_host<'a>(values: &'a [Self], host: &str) -> Option<&'a T> {
        let own = values.iter().find(|it| it.host.as_deref() == Some(host));
        let found = own.or_else(|| values.iter().find(|it| it.host.is_none()));
        found.map(|it| &it.value)
    }
}

fn read_key(endpoint: &ModelEndpoint, variable: &str) -> anyhow::Result<String> {
    let key = env::var(variable).ok().filter(|key| !key.is_empty());
    key.with_context(|| {
        format!("environment variable `{variable}`, which should hold its key, is not set")
    })
    .with_context(|| format!("cannot use {endpoint}"))
    .advise(|| format!("set it: export {variable}=…"))
}

fn parse_host_value<T: FromStr>(text: &str) -> Result<HostValue<T>, String> {
    let (host, value) = match text.split_once('=') {
        Some((host, value)) => (Some(host.to_ascii_lowercase()), value),
        None => (None, text),
    };
    let value = value
        .parse()
        .ok()
        .filter(|_| !value.is_empty() && host.as_deref() != Some(""));
    Ok(HostValue {
        host,
        value: value.ok_or("expected NAME, or HOST=NAME for one host")?,
    })
}

fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = text.split_once('=').and_then(|(name, value)| {
        let mut value = HeaderValue::try_from(value.trim()).ok()?;
        value.set_sensitive(true);
        Some((name.trim().parse().ok()?, value))
    });
    parsed.ok_or_else(|| "expected NAME=VALUE, such as OpenAI-Project=mine".to_owned())
}

/// A value that is not JSON is a string, as in `reasoning_effort=low`.
fn parse_parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expected NAME=JSON, such as temperature=0")?;
    if RESERVED_PARAMETERS.contains(&name) {
        return Err(format!("`{name}` is set by Kitbag"));
    }
    Ok((
        name.to_owned(),
        serde_json::from_str(value).unwrap_or_else(|_| value.into()),
    ))
}

const RESERVED_PARAMETERS: [&str; 5] = ["model", "messages", "tools", "stream", "n"];
