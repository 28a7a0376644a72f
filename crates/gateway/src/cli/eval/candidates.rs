//! The models that sit an exam: where each is asked, with which key, and what it costs.

use std::env;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use kitbag_exam::{Candidate, Client, Endpoint, Patience, Price};

use crate::cli::failure::Advise as _;
use crate::cli::output::Output;

#[derive(Debug, Args)]
#[command(next_help_heading = "Models")]
pub(super) struct Models {
    /// anthropic:MODEL, openai:MODEL or URL#MODEL; may be repeated.
    #[arg(long = "model", value_name = "ENDPOINT")]
    pub(super) endpoints: Vec<Endpoint>,
    /// The variable that holds the key for models at a URL.
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// USD for a million tokens read; once for each --model, in their order.
    #[arg(long, value_name = "USD", value_parser = price, requires = "price_out")]
    price_in: Vec<f64>,
    /// USD for a million tokens written.
    #[arg(long, value_name = "USD", value_parser = price, requires = "price_in")]
    price_out: Vec<f64>,
    /// Requests a minute to each model, at most.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rpm: Option<u32>,
    /// How long an answer may take, in seconds.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
    /// How often a request is repeated when a model is busy or fails.
    #[arg(long, value_name = "N", default_value_t = 5)]
    retries: u32,
}

impl Models {
    pub(super) fn candidates(&self, output: Output) -> anyhow::Result<Vec<Candidate>> {
        if self.endpoints.is_empty() {
            return Err(anyhow!("no model is named, and a figure can only come from one"))
                .context("nothing was measured")
                .advise(|| NO_MODEL.to_owned());
        }
        self.check()?;
        let prices = self.prices()?;
        self.endpoints
            .iter()
            .zip(prices)
            .map(|(endpoint, price)| {
                let key = self.key(endpoint)?;
                if key.is_some() && endpoint.is_readable_on_the_way() {
                    output.warn(&format!("the key for {endpoint} is sent without encryption"));
                }
                let client = Client::new(endpoint.clone(), key, self.patience())?;
                Ok(Candidate { client, price })
            })
            .collect()
    }

    fn check(&self) -> anyhow::Result<()> {
        let mut names: Vec<_> = self.endpoints.iter().map(ToString::to_string).collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!("the model {} is named twice; to ask more often, use --runs", twice[0]);
        }
        if self.key_env.is_some() && self.endpoints.iter().all(|it| it.key_variable().is_some()) {
            bail!("--key-env is for models at a URL; the others take ANTHROPIC_API_KEY and OPENAI_API_KEY");
        }
        Ok(())
    }

    fn patience(&self) -> Patience {
        Patience {
            timeout: Duration::from_secs(self.timeout),
            retries: self.retries,
            first_pause: Duration::from_secs(1),
            per_minute: self.rpm,
        }
    }

    /// A vendor's key goes to the vendor alone; elsewhere goes what was named for it.
    fn key(&self, endpoint: &Endpoint) -> anyhow::Result<Option<String>> {
        let Some(variable) = endpoint.key_variable().or(self.key_env.as_deref()) else { return Ok(None) };
        let key = env::var(variable).ok().filter(|key| !key.is_empty());
        let missing = || anyhow!("the environment variable `{variable}`, which holds its key, is not set");
        let key = key.ok_or_else(missing).with_context(|| format!("{endpoint} cannot be asked"));
        key.map(Some).advise(|| format!("set it: export {variable}=…"))
    }

    fn prices(&self) -> anyhow::Result<Vec<Option<Price>>> {
        let (input, output) = (&self.price_in, &self.price_out);
        if input.is_empty() && output.is_empty() {
            return Ok(vec![None; self.endpoints.len()]);
        }
        if [input.len(), output.len()] != [self.endpoints.len(); 2] {
            bail!("--price-in and --price-out must be given once for each --model");
        }
        let pairs = input.iter().zip(output);
        Ok(pairs.map(|(input, output)| Some(Price { input: *input, output: *output })).collect())
    }
}

const NO_MODEL: &str = "\
name one: --model anthropic:MODEL with ANTHROPIC_API_KEY set, --model openai:MODEL with OPENAI_API_KEY set, \
or --model http://localhost:11434/v1#MODEL; or see what would be sent with --dry-run";

fn price(text: &str) -> Result<f64, String> {
    let price = text.parse().ok().filter(|price: &f64| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "a price is a number such as 3 or 0.25".to_owned())
}
