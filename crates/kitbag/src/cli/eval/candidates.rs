//! The models under test: endpoint, key and price of each.

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use kitbag_eval::{EvalCandidate, ModelEndpoint, Price};
use serde_json::{Map, Value};

use crate::cli::failure::Advise as _;
use crate::cli::model_access::ModelAccess;
use crate::cli::output::Output;

#[derive(Debug, Args)]
#[command(next_help_heading = "Models")]
pub(super) struct Models {
    /// anthropic:MODEL, openai:MODEL, URL#MODEL or anthropic:URL#MODEL; repeatable.
    #[arg(long = "model", value_name = "ENDPOINT")]
    endpoints: Vec<ModelEndpoint>,
    #[command(flatten)]
    access: ModelAccess,
    /// USD per million input tokens; once per --model, in the same order.
    #[arg(long, value_name = "USD", value_parser = parse_price, requires = "price_out")]
    price_in: Vec<f64>,
    /// USD per million output tokens.
    #[arg(long, value_name = "USD", value_parser = parse_price, requires = "price_in")]
    price_out: Vec<f64>,
    /// Maximum number of tools per request [default: 128 for OpenAI]; further tools are not shown.
    #[arg(long, value_name = "N", value_parser = parse_max_tools)]
    max_tools: Option<usize>,
}

fn parse_max_tools(text: &str) -> Result<usize, String> {
    let number: Option<usize> = text.parse().ok().filter(|it| *it > 0);
    number.ok_or_else(|| "expected a number greater than zero".to_owned())
}

impl Models {
    pub(super) fn parameters(&self) -> Map<String, Value> {
        self.access.parameters()
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
                let client = self.access.open_client(endpoint, output)?;
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
        self.access.check_options(&self.endpoints)
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

fn parse_price(text: &str) -> Result<f64, String> {
    let price = text
        .parse()
        .ok()
        .filter(|price: &f64| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "expected a price such as 3 or 0.25".to_owned())
}
