//! `kitbag servers show`: details of a server, without starting it.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_config::{Config, Project};
use kitbag_domain::{ServerName, ShortText};
use kitbag_store::Store;
use kitbag_upstream::{Listing, ServerSpec};
use serde::Serialize;

use super::find;
use super::state::{Login, ServerState, server_states};
use crate::cli::Invocation;
use crate::cli::completions::servers;
use crate::cli::output::{describe_offers, strip_controls, to_one_line};
use kitbag_gateway::state::store_address::{store_address, store_may_exist};

/// Show a server's configuration and its last listing.
///
/// No server is started. Secrets are masked.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kitbag servers show time\n  kitbag servers show time --json")]
pub(super) struct Arguments {
    #[arg(add = ArgValueCandidates::new(servers))]
    name: ServerName,
}

#[derive(Debug, Serialize)]
pub(crate) struct ServerDetails {
    pub(crate) name: ServerName,
    pub(crate) enabled: bool,
    /// Command line or URL.
    pub(crate) target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<PathBuf>,
    /// Names of the variables or headers passed to the server.
    pub(crate) given: Vec<String>,
    /// The file that configures the server; none for a built-in server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<PathBuf>,
    #[serde(flatten)]
    pub(crate) state: ServerState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offer: Option<ListedOffer>,
    pub(crate) log: PathBuf,
}

/// The server's last listing.
#[derive(Debug, Serialize)]
pub(crate) struct ListedOffer {
    pub(crate) era: String,
    pub(crate) version: String,
    pub(crate) tools: usize,
    pub(crate) prompts: usize,
    pub(crate) resources: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<String>,
    pub(crate) problems: Vec<String>,
}

pub(super) async fn run(arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    let config = invocation.config()?;
    let spec = find(&config, &arguments.name)?;
    let store = match store_may_exist(&config) {
        true => Some(Store::open(store_address(&config)?).await?),
        false => None,
    };
    let details = ServerDetails::read(spec, &config, store.as_ref(), None).await;
    if let Some(store) = store {
        store.close().await;
    }
    invocation.show(&details?, format_details)
}

impl ServerDetails {
    /// Reads what is known of a server without starting it. Without its listing, the stored one is
    /// read.
    pub(crate) async fn read(
        spec: &ServerSpec,
        config: &Config,
        store: Option<&Store>,
        listing: Option<&Listing>,
    ) -> anyhow::Result<Self> {
        // Without the key of the secrets, everything else is still known.
        let mut states = server_states(config, store).await.unwrap_or_default();
        let state = states.remove(&spec.name).unwrap_or_default();
        let offer = match (listing, store) {
            (Some(listing), _) => Some(ListedOffer::from_listing(listing)),
            (None, Some(store)) => read_stored_offer(spec, store).await?,
            (None, None) => None,
        };
        Ok(Self {
            name: spec.name.clone(),
            enabled: !config.disabled.contains_key(&spec.name),
            target: kitbag_launch_review::line_of(spec).unwrap_or_else(|| "built in".to_owned()),
            cwd: spec.launch().and_then(|launch| launch.cwd.clone()),
            given: spec
                .named_values()
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
            file: config_file(spec, config),
            state,
            offer,
            log: config.server_log_path(&spec.name),
        })
    }
}

async fn read_stored_offer(
    spec: &ServerSpec,
    store: &Store,
) -> anyhow::Result<Option<ListedOffer>> {
    let stored = store
        .listing(&spec.name)
        .await?
        .filter(|it| it.fingerprint == spec.fingerprint());
    let listing = stored.and_then(|stored| serde_json::from_str::<Listing>(&stored.body).ok());
    Ok(listing.as_ref().map(ListedOffer::from_listing))
}

impl ListedOffer {
    fn from_listing(listing: &Listing) -> Self {
        Self {
            era: listing.era.to_string(),
            tools: listing.tools.len(),
            prompts: listing.prompts.len(),
            resources: listing.resources.len() + listing.templates.len(),
            problems: listing
                .problems
                .iter()
                .map(|it| format!("{}: {}", it.about, it.what))
                .collect(),
            instructions: listing.instructions.clone(),
            version: listing.version.clone(),
        }
    }
}

fn config_file(spec: &ServerSpec, config: &Config) -> Option<PathBuf> {
    match &config.project {
        Project::Active { path, servers, .. } if servers.contains(&spec.name) => Some(path.clone()),
        _ if spec.is_built_in() => None,
        _ => config.origin.clone(),
    }
}

fn format_details(shown: &ServerDetails) -> String {
    let mut facts = vec![
        ("Name:", shown.name.to_string()),
        ("State:", describe_state(shown)),
        ("Runs:", shown.target.clone()),
    ];
    facts.extend(shown.cwd.iter().map(|cwd| ("Directory:", path_text(cwd))));
    if !shown.given.is_empty() {
        facts.push(("Env/headers:", shown.given.join(", ")));
    }
    facts.extend(shown.file.iter().map(|file| ("Config:", path_text(file))));
    match &shown.offer {
        Some(offer) => facts.extend(offer.facts()),
        None => facts.push((
            "Offers:",
            "not listed yet; to list: kitbag servers test".to_owned(),
        )),
    }
    facts.push(("Log:", path_text(&shown.log)));
    facts
        .iter()
        .map(|(label, value)| format!("{label:<14}{}\n", strip_controls(value)))
        .collect()
}

fn describe_state(shown: &ServerDetails) -> String {
    match (&shown.state.login, shown.state.missing.first()) {
        _ if !shown.enabled => "disabled".to_owned(),
        (_, Some(variable)) => format!("needs {variable}"),
        (Some(Login::Needed), None) => "login needed".to_owned(),
        (Some(Login::LoggedIn), None) => "logged in".to_owned(),
        (None, None) => "enabled".to_owned(),
    }
}

impl ListedOffer {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("Protocol:", format!("{} ({})", self.version, self.era)),
            (
                "Offers:",
                describe_offers(self.tools, self.prompts, self.resources),
            ),
        ];
        facts.extend(self.problems.iter().map(|it| ("Problem:", it.clone())));
        let instructions = self.instructions.iter();
        facts.extend(instructions.map(|it| {
            (
                "Instructions:",
                ShortText::truncate(&to_one_line(it)).to_string(),
            )
        }));
        facts
    }
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}
