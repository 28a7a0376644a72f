//! The models under test: endpoint, key and price of each.

use std::env;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use kitbag_eval::{Access, EvalCandidate, ModelClient, ModelEndpoint, Price, RequestLimits};
use serde_json::{Map, Value};

use crate::cli::failure::Advise as _;
use crate::cli::output::Output;

#[derive(Debug, Args)]
#[command(next_help_heading = "Models")]
pub(super) struct Models {
    /// anthropic:MODEL, openai:MODEL, URL#MODEL or anthropic:URL#MODEL; repeatable.
    #[arg(long = "model", value_name = "ENDPOINT")]
    endpoints: Vec<ModelEndpoint>,
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
    /// USD per million input tokens; once per --model, in the same order.
    #[arg(long, value_name = "USD", value_parser = parse_price, requires = "price_out")]
    price_in: Vec<f64>,
    /// USD per million output tokens.
    #[arg(long, value_name = "USD", value_parser = parse_price, requires = "price_in")]
    price_out: Vec<f64>,
    /// Maximum number of tools per request [default: 128 for OpenAI]; further tools are not shown.
    #[arg(long, value_name = "N", value_parser = parse_max_tools)]
    max_tools: Option<usize>,
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

fn parse_max_tools(text: &str) -> Result<usize, String> {
    let number: Option<usize> = text.parse().ok().filter(|it| *it > 0);
    number.ok_or_else(|| "expected a number greater than zero".to_owned())
}

/// A value for one host, or for every URL.
#[derive(Debug, Clone)]
struct HostValue<T> {
    host: Option<String>,
    value: T,
}

impl Models {
    pub(super) fn parameters(&self) -> Map<String, Value> {
        self.param.iter().cloned().collect()
    }

    /// Returns the models in the order given, with their tool limits.
    pub(super) fn endpoints_with_limits(&self) -> Vec<ModelEndpoint> {
        let endpoints = self.endpoints.iter().cloned();
        endpoints
            .map(|it| it.with_most_tools(self.max_tools))
            .collect()
    }

    pub(super) fn open_candidates(&self, output: Output) -> anyhow::Result<Vec<EvalCandidate>> {
        if self.endpoints.is_empty() {
            return Err(anyhow!("no model given"))
                .context("nothing was measured")
                .advise(|| NO_MODEL.to_owned());
        }
        self.check_options()?;
        let prices = self.parse_prices()?;
        self.endpoints_with_limits()
            .into_iter()
            .zip(prices)
            .map(|(endpoint, price)| {
                let access = self.endpoint_access(&endpoint)?;
                if access.key.is_some() && endpoint.is_unencrypted() {
                    output.warn(&format!("the key for {endpoint} is sent unencrypted"));
                }
                let client = ModelClient::new(endpoint, access, self.request_limits())?;
                Ok(EvalCandidate { client, price })
            })
            .collect()
    }

    fn check_options(&self) -> anyhow::Result<()> {
        let mut names: Vec<_> = self.endpoints.iter().map(ToString::to_string).collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!(
                "model {} is given twice; for more runs, use --runs",
                twice[0]
            );
        }
        let hosts: Vec<_> = self
            .endpoints
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

    fn parse_prices(&self) -> anyhow::Result<Vec<Option<Price>>> {
        let (input, output) = (&self.price_in, &self.price_out);
        if input.is_empty() && output.is_empty() {
            return Ok(vec![None; self.endpoints.len()]);
        }
        if [input.len(), output.len()] != [self.endpoints.len(); 2] {
            bail!("pass --price-in and --price-out once for each --model");
        }
        let pairs = input.iter().zip(output);
        Ok(pairs
            .map(|(input, output)| {
                Some(Price {
                    input: *input,
                    output: *output,
                })
            })
            .collect())
    }
}

const NO_MODEL: &str = "\
pass --model anthropic:MODEL with ANTHROPIC_API_KEY set, --model openai:MODEL with OPENAI_API_KEY set, \
or --model http://localhost:11434/v1#MODEL; or show what would be sent with --dry-run";

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

fn parse_price(text: &str) -> Result<f64, String> {
    let price = text
        .parse()
        .ok()
        .filter(|price: &f64| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "expected a price such as 3 or 0.25".to_owned())
}
