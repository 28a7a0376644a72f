//! The models that sit an exam: where each is asked, with which key, and what it costs.

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
    /// anthropic:MODEL, openai:MODEL, URL#MODEL or anthropic:URL#MODEL; may be repeated.
    #[arg(long = "model", value_name = "ENDPOINT")]
    endpoints: Vec<ModelEndpoint>,
    /// The variable that holds the key for models at a URL, or for those at one host.
    #[arg(long, value_name = "[HOST=]NAME", value_parser = parse_host_value::<String>)]
    key_env: Vec<HostValue<String>>,
    /// The header in which they want it, such as api-key.
    #[arg(long, value_name = "[HOST=]HEADER", value_parser = parse_host_value::<HeaderName>)]
    key_header: Vec<HostValue<HeaderName>>,
    /// Another header for models at a URL; keys belong into --key-env.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_header)]
    header: Vec<(HeaderName, HeaderValue)>,
    /// Something else to say in every request, such as temperature=0.
    #[arg(long, value_name = "NAME=JSON", value_parser = parse_parameter)]
    param: Vec<(String, Value)>,
    /// USD for a million tokens read; once for each --model, in their order.
    #[arg(long, value_name = "USD", value_parser = parse_price, requires = "price_out")]
    price_in: Vec<f64>,
    /// USD for a million tokens written.
    #[arg(long, value_name = "USD", value_parser = parse_price, requires = "price_in")]
    price_out: Vec<f64>,
    /// The most tools that a request may name; 128 at OpenAI unless given. Of a longer list, models
    /// are shown the first.
    #[arg(long, value_name = "N", value_parser = parse_most_tools)]
    max_tools: Option<usize>,
    /// Requests a minute to each model, at most.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rpm: Option<u32>,
    /// The time that an answer may take, in seconds.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
    /// The number of times that a request is repeated when a model is busy or fails.
    #[arg(long, value_name = "N", default_value_t = 5)]
    retries: u32,
}

fn parse_most_tools(text: &str) -> Result<usize, String> {
    let number: Option<usize> = text.parse().ok().filter(|it| *it > 0);
    number.ok_or_else(|| "it is a positive number".to_owned())
}

/// A value for the models at one host, or at every URL.
#[derive(Debug, Clone)]
struct HostValue<T> {
    host: Option<String>,
    value: T,
}

impl Models {
    pub(super) fn parameters(&self) -> Map<String, Value> {
        self.param.iter().cloned().collect()
    }

    /// Returns the models in their order, with the limit on their tools.
    pub(super) fn endpoints_with_limits(&self) -> Vec<ModelEndpoint> {
        let endpoints = self.endpoints.iter().cloned();
        endpoints
            .map(|it| it.with_most_tools(self.max_tools))
            .collect()
    }

    pub(super) fn open_candidates(&self, output: Output) -> anyhow::Result<Vec<EvalCandidate>> {
        if self.endpoints.is_empty() {
            return Err(anyhow!(
                "no model is named, and a figure can only come from one"
            ))
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
                    output.warn(&format!(
                        "the key for {endpoint} is sent without encryption"
                    ));
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
                "the model {} is named twice; to ask more often, use --runs",
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
                "{flag} is for models at a URL; the others take ANTHROPIC_API_KEY and OPENAI_API_KEY"
            );
        }
        let named = self
            .key_env
            .iter()
            .map(|it| &it.host)
            .chain(self.key_header.iter().map(|it| &it.host));
        if let Some(host) = named.flatten().find(|host| !hosts.contains(&host.as_str())) {
            bail!("no --model is at {host}");
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

    /// A vendor's key goes to the vendor alone; another host gets the key that was named for it.
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
            bail!("--price-in and --price-out must be given once for each --model");
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
name one: --model anthropic:MODEL with ANTHROPIC_API_KEY set, --model openai:MODEL with OPENAI_API_KEY set, \
or --model http://localhost:11434/v1#MODEL; or see what would be sent with --dry-run";

impl<T> HostValue<T> {
    /// Returns the value that was given for the host, or else the value that was given for all
    /// hosts.
    fn find_for_host<'a>(said: &'a [Self], host: &str) -> Option<&'a T> {
        let own = said.iter().find(|it| it.host.as_deref() == Some(host));
        let found = own.or_else(|| said.iter().find(|it| it.host.is_none()));
        found.map(|it| &it.value)
    }
}

fn read_key(endpoint: &ModelEndpoint, variable: &str) -> anyhow::Result<String> {
    let key = env::var(variable).ok().filter(|key| !key.is_empty());
    key.with_context(|| {
        format!("the environment variable `{variable}`, which holds its key, is not set")
    })
    .with_context(|| format!("{endpoint} cannot be asked"))
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
        value: value.ok_or("write NAME, or HOST=NAME for the models at one host")?,
    })
}

fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = text.split_once('=').and_then(|(name, value)| {
        let mut value = HeaderValue::try_from(value.trim()).ok()?;
        value.set_sensitive(true);
        Some((name.trim().parse().ok()?, value))
    });
    parsed.ok_or_else(|| "a header is NAME=VALUE, such as OpenAI-Project=mine".to_owned())
}

/// A value that is no JSON is a text, as in `reasoning_effort=low`.
fn parse_parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("a parameter is NAME=JSON, such as temperature=0")?;
    if RESERVED_PARAMETERS.contains(&name) {
        return Err(format!("`{name}` is said by Kitbag itself"));
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
    price.ok_or_else(|| "a price is a number such as 3 or 0.25".to_owned())
}
