//! Configures a server from a registry entry.
//!
//! The author of an entry is unknown. The entry is shown before it is used, and nothing in it is
//! expanded as a variable or secret.

use anyhow::{Context as _, anyhow};
use clap::Args;
use kitbag_config::ConfigSource;
use kitbag_config::edit::Reach;
use kitbag_domain::ServerName;
use kitbag_registry::{
    EntryName, EntryStatus, FilledPlan, PlanInput, Registry, RegistryEntry, RemoteKind, RunKind,
    RunPlan, choose,
};
use kitbag_upstream::programs;
use serde::Serialize;

use super::answers::{self, AnswerContext};
use super::{AddTarget, ServerToAdd, check_name_is_free, parse_pair};
use crate::cli::Invocation;
use crate::cli::confirm::{Confirmation, confirm};
use crate::cli::failure::Advise as _;
use crate::cli::output::{Output, to_one_line};
use crate::cli::servers::find::RegistryChoice;
use crate::import::staged_secrets::StagedSecrets;
use kitbag_launch_review::words::quote_template;
use kitbag_launch_review::{Review, ReviewSource};

#[derive(Debug, Args)]
#[command(next_help_heading = "From the registry")]
pub(super) struct FromRegistry {
    /// Look up NAME in the registry even though it has no owner.
    #[arg(long)]
    pub(super) registry: bool,
    /// Local name [default: the last part of its registry name].
    #[arg(long = "as", value_name = "NAME")]
    local: Option<ServerName>,
    /// Version of the entry [default: the latest].
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// npm, pypi, nuget, oci or remote [default: one that runs here].
    #[arg(long, value_name = "KIND")]
    package: Option<RunKind>,
    /// Value for a setting of the server; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair, allow_hyphen_values = true)]
    set: Vec<(String, String)>,
    /// Run it without asking.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    place: RegistryChoice,
}

/// The registry entry of a server.
#[derive(Debug, Serialize)]
pub(crate) struct RegistryOrigin {
    name: EntryName,
    version: String,
    kind: RunKind,
    package: String,
}

/// Options of the command line that apply to the entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct AddOptions {
    pub(super) force: bool,
    /// True if the server will run, now or in a gateway.
    pub(super) enabled: bool,
}

/// Fetches and shows the entry, collects its values, and asks for confirmation.
pub(super) async fn fetch(
    target: &AddTarget,
    arguments: &FromRegistry,
    options: AddOptions,
    invocation: &Invocation,
) -> anyhow::Result<ServerToAdd> {
    let config = invocation.config()?;
    let registry = arguments.place.open(&config);
    let entry = fetch_entry(target, arguments, &registry, invocation).await?;
    let name = arguments
        .local
        .clone()
        .unwrap_or_else(|| entry.server.name.server_name());
    check_name_is_free(&config, &name, options.force)?;
    let offer = RegistryOffer::new(entry, arguments.package)?;
    invocation.note(&describe_entry(&offer.entry, &offer.plan, &registry));
    let (source, output) = (&invocation.source, invocation.output);
    let (added, review) = offer
        .build_server(&name, &arguments.set, &registry, source, output)
        .await?;
    let server = &offer.entry.server;
    if options.enabled {
        let question = Confirmation {
            text: "Run this?",
            yes: arguments.yes,
            command: &arguments.confirming_command(&server.name),
        };
        confirm(&[review], question, invocation.output)?;
    } else {
        invocation.note(&review.to_string());
    }
    Ok(added)
}

/// A registry entry, and how it runs on this machine.
pub(crate) struct RegistryOffer {
    pub(crate) entry: RegistryEntry,
    pub(crate) plan: RunPlan,
}

impl RegistryOffer {
    fn new(entry: RegistryEntry, kind: Option<RunKind>) -> anyhow::Result<Self> {
        let server = &entry.server;
        let plan = choose(server, kind, |program| {
            programs::find_on_path(program).is_some()
        });
        let plan = plan.with_context(|| format!("cannot run `{}` on this machine", server.name))?;
        Ok(Self { entry, plan })
    }

    /// Fetches the latest version of an entry.
    pub(crate) async fn fetch(name: &EntryName, registry: &Registry) -> anyhow::Result<Self> {
        let entry = registry.fetch_entry(name, None).await?;
        reject_deleted(&entry)?;
        Self::new(entry, None)
    }

    /// Returns the command line or URL, with names in place of values that are not given yet.
    pub(crate) fn preview(&self) -> String {
        preview_command(&self.plan)
    }

    /// Builds the server with these values, and its review. Asks for missing values at a terminal.
    pub(crate) async fn build_server(
        &self,
        name: &ServerName,
        given: &[(String, String)],
        registry: &Registry,
        at: &ConfigSource,
        output: Output,
    ) -> anyhow::Result<(ServerToAdd, Review)> {
        let Self { entry, plan } = self;
        let server = &entry.server;
        let mut secrets = StagedSecrets::load(&at.load()?).await?;
        let mut context = AnswerContext {
            server: name,
            secrets: &mut secrets,
            environment: &at.environment,
        };
        let answers = answers::collect_answers(plan, given, &mut context, output)?;
        let filled = plan
            .fill(&answers, escape_variables)
            .map_err(|missing| answers::missing_error(&missing, &server.name, given))?;
        let origin = RegistryOrigin {
            name: server.name.clone(),
            version: server.version.clone(),
            kind: plan.kind,
            package: plan.source.clone(),
        };
        let reach = to_reach(filled);
        let source = ReviewSource::Registry {
            entry: format!("{} {}", origin.name, origin.version),
            url: registry.display_url().to_string(),
        };
        let review = Review::new(name.as_str(), source, &reach);
        let added = ServerToAdd {
            name: name.clone(),
            reach,
            secrets,
            origin: Some(origin),
        };
        Ok((added, review))
    }
}

impl FromRegistry {
    /// Returns the first option that only applies to registry entries.
    pub(super) fn first_given_flag(&self) -> Option<&'static str> {
        let flags = [
            (self.local.is_some(), "--as"),
            (self.version.is_some(), "--version"),
            (self.package.is_some(), "--package"),
            (!self.set.is_empty(), "--set"),
            (self.yes, "--yes"),
        ];
        flags
            .into_iter()
            .find(|(given, _)| *given)
            .map(|(_, flag)| flag)
    }

    /// Returns the command that confirms in advance. Values are omitted, since they may be secrets.
    fn confirming_command(&self, name: &EntryName) -> String {
        let set = self.set.iter().map(|(key, _)| format!(" --set {key}=…"));
        format!("kitbag servers add {name}{} --yes", set.collect::<String>())
    }
}

async fn fetch_entry(
    target: &AddTarget,
    arguments: &FromRegistry,
    registry: &Registry,
    invocation: &Invocation,
) -> anyhow::Result<RegistryEntry> {
    let version = arguments.version.as_deref();
    let asking = async {
        match (target, version) {
            (AddTarget::Registered(name), version) => registry.fetch_entry(name, version).await,
            (AddTarget::Named(short), None) => registry.find_by_short_name(short.as_str()).await,
            (AddTarget::Named(short), version) => {
                let latest = registry.find_by_short_name(short.as_str()).await?;
                registry.fetch_entry(&latest.server.name, version).await
            }
        }
    };
    let entry = invocation
        .output
        .with_progress(&format!("Fetching from {}", registry.display_url()), asking)
        .await?;
    if entry.status == EntryStatus::Deprecated {
        let (name, reason) = (&entry.server.name, status_reason(&entry));
        let output = invocation.output;
        output.warn(&format!("`{name}` is deprecated by its author{reason}"));
    }
    reject_deleted(&entry)?;
    Ok(entry)
}

fn reject_deleted(entry: &RegistryEntry) -> anyhow::Result<()> {
    if entry.status != EntryStatus::Deleted {
        return Ok(());
    }
    let (name, reason) = (&entry.server.name, status_reason(entry));
    Err(anyhow!(
        "`{name}` was deleted by its author or the registry{reason}"
    ))
    .advise(|| format!("search for another: kitbag servers find {}", name.short()))
}

fn status_reason(entry: &RegistryEntry) -> String {
    let message = entry.message.as_deref();
    message
        .map(|message| format!(": {message}"))
        .unwrap_or_default()
}

/// Describes the origin of the server and the command it will run, for the user to decide on.
fn describe_entry(entry: &RegistryEntry, plan: &RunPlan, registry: &Registry) -> String {
    let server = &entry.server;
    let mut lines = vec![format!(
        "{} {}, from {}",
        server.name,
        to_one_line(&server.version),
        registry.display_url()
    )];
    let repository = server.repository.as_ref().map(|it| it.url.clone());
    let package =
        (plan.kind != RunKind::Remote).then(|| format!("{} ({})", plan.source, plan.kind));
    let facts = [
        ("Description:", Some(server.description.clone())),
        ("Repository:", repository),
        ("Website:", server.website_url.clone()),
        ("Package:", package),
        // Without inputs, the review shows the full command right away.
        (
            "Would run:",
            (!plan.inputs.is_empty()).then(|| preview_command(plan)),
        ),
    ];
    let optional = plan
        .inputs
        .iter()
        .filter(|input| !input.required && input.default.is_none())
        .map(|input| ("Optional:", Some(format_setting(input))));
    for (label, text) in facts.into_iter().chain(optional) {
        let text = to_one_line(&text.unwrap_or_default());
        if !text.is_empty() {
            lines.push(format!("  {label:<12} {text}"));
        }
    }
    lines.join("\n")
}

fn preview_command(plan: &RunPlan) -> String {
    let words = plan.preview();
    let words: Vec<_> = words
        .iter()
        .map(|it| quote_template(&escape_variables(it)))
        .collect();
    words.join(" ")
}

fn format_setting(input: &PlanInput) -> String {
    format!("--set {}=…  {}", input.name, answers::describe_input(input))
}

fn to_reach(filled: FilledPlan) -> Reach {
    match filled {
        FilledPlan::Launch { command, args, env } => Reach::Launch {
            command,
            args,
            env,
            cwd: None,
        },
        FilledPlan::Remote {
            url,
            transport,
            headers,
        } => {
            let transport = (transport == RemoteKind::Sse).then(|| "sse".to_owned());
            Reach::Remote {
                url,
                transport,
                headers,
            }
        }
    }
}

/// Escapes `$` so that no variable is expanded: `${:-$}` is an unset variable with default `$`.
fn escape_variables(text: &str) -> String {
    text.replace('$', "${:-$}")
}

#[cfg(test)]
mod tests {
    use kitbag_domain::Template;

    use super::*;

    #[test]
    fn escaped_text_resolves_to_itself() {
        for text in [
            "plain",
            "${HOME}",
            "${secret:x}",
            "$$ {a} ${",
            "a$",
            "${a:-${b}}",
        ] {
            let nothing_is_set = |name: &str| (!name.is_empty()).then(|| "leaked".to_owned());
            assert_eq!(
                Template::new(escape_variables(text))
                    .resolve(nothing_is_set)
                    .unwrap(),
                text
            );
        }
    }
}
