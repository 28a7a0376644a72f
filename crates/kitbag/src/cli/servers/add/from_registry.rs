//! An entry of the registry, as a server of ours.
//!
//! The author of an entry is unknown to us. The entry is shown before it is used, and nothing in it
//! is ever taken for a variable or a secret of ours.

use anyhow::{Context as _, anyhow};
use clap::Args;
use kitbag_config::edit::Reach;
use kitbag_domain::ServerName;
use kitbag_registry::{
    EntryName, EntryStatus, FilledPlan, PlanInput, Registry, RegistryEntry, RegistryError,
    RemoteKind, RunKind, RunPlan, choose,
};
use kitbag_upstream::programs;
use serde::Serialize;

use super::answers::{self, Answering};
use super::{ServerToAdd, Wanted, pair, vacant};
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
    /// NAME is one of the registry, though it has no owner.
    #[arg(long)]
    pub(super) registry: bool,
    /// Its name here; the last part of its name in the registry, if not given.
    #[arg(long = "as", value_name = "NAME")]
    local: Option<ServerName>,
    /// The version of the entry; the latest, if not given.
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The form: npm, pypi, nuget, oci or remote; one that runs here, if not given.
    #[arg(long, value_name = "KIND")]
    package: Option<RunKind>,
    /// The value of something the server asks for; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair, allow_hyphen_values = true)]
    set: Vec<(String, String)>,
    /// Run it without being asked.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    place: RegistryChoice,
}

/// The origin of a server.
#[derive(Debug, Serialize)]
pub(super) struct RegistryOrigin {
    name: EntryName,
    version: String,
    kind: RunKind,
    package: String,
}

/// The way in which the rest of the command line wants the entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct AddWish {
    pub(super) force: bool,
    /// True if the server will run, now or behind a gateway.
    pub(super) enabled: bool,
}

/// Fetches the entry, shows it, gathers what it asks for, and asks the person whether to run it.
pub(super) async fn fetch(
    wanted: &Wanted,
    arguments: &FromRegistry,
    wish: AddWish,
    invocation: &Invocation,
) -> anyhow::Result<ServerToAdd> {
    let config = invocation.config()?;
    let registry = arguments.place.open(&config);
    let entry = find(wanted, arguments, &registry, invocation).await?;
    let server = &entry.server;
    let name = arguments
        .local
        .clone()
        .unwrap_or_else(|| server.name.server_name());
    vacant(&config, &name, wish.force)?;
    let plan = choose(server, arguments.package, |program| {
        programs::find_on_path(program).is_some()
    })
    .with_context(|| format!("`{}` cannot be run from here", server.name))?;
    invocation.output.note(&about(&entry, &plan, &registry));
    let mut keeping = StagedSecrets::load(&config).await?;
    let answering = Answering {
        server: &name,
        keeping: &mut keeping,
        around: &invocation.at.environment,
    };
    let filled = arguments.fill(&plan, &server.name, answering, invocation.output)?;
    let origin = RegistryOrigin {
        name: server.name.clone(),
        version: server.version.clone(),
        kind: plan.kind,
        package: plan.source.clone(),
    };
    let reach = reach(filled);
    let review = Review::new(name.as_str(), origin.told(&registry), &reach);
    if wish.enabled {
        arguments.agree(review, &server.name, invocation.output)?;
    } else {
        invocation.output.note(&review.to_string());
    }
    Ok(ServerToAdd {
        name,
        reach,
        keeping,
        origin: Some(origin),
    })
}

impl RegistryOrigin {
    fn told(&self, registry: &Registry) -> ReviewSource {
        ReviewSource::Registry {
            entry: format!("{} {}", self.name, self.version),
            url: registry.display_url().to_string(),
        }
    }
}

impl FromRegistry {
    fn fill(
        &self,
        plan: &RunPlan,
        name: &EntryName,
        mut answering: Answering<'_>,
        output: Output,
    ) -> anyhow::Result<FilledPlan> {
        let answers = answers::gather(plan, &self.set, &mut answering, output)?;
        plan.fill(&answers, literally)
            .map_err(|missing| answers::missing(&missing, name, &self.set))
    }

    fn agree(&self, review: Review, name: &EntryName, output: Output) -> anyhow::Result<()> {
        let question = Confirmation {
            text: "Run this?",
            yes: self.yes,
            command: &self.agreeing(name),
        };
        confirm(&[review], question, output)
    }

    /// Returns a flag that has no meaning for a server that is described.
    pub(super) fn given(&self) -> Option<&'static str> {
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

    /// Returns the command that says yes in advance; a value that was set may be a secret, and is
    /// not repeated.
    fn agreeing(&self, name: &EntryName) -> String {
        let set = self.set.iter().map(|(key, _)| format!(" --set {key}=…"));
        format!("kitbag servers add {name}{} --yes", set.collect::<String>())
    }
}

async fn find(
    wanted: &Wanted,
    arguments: &FromRegistry,
    registry: &Registry,
    invocation: &Invocation,
) -> anyhow::Result<RegistryEntry> {
    let asking = ask(wanted, arguments.version.as_deref(), registry);
    let entry = invocation
        .output
        .with_progress(&format!("Asking {}", registry.display_url()), asking)
        .await?;
    let reason = entry
        .message
        .as_deref()
        .map(|message| format!(": {message}"))
        .unwrap_or_default();
    let name = &entry.server.name;
    match entry.status {
        EntryStatus::Active => {}
        EntryStatus::Deprecated => {
            invocation
                .output
                .warn(&format!("the author of `{name}` has given it up{reason}"));
        }
        EntryStatus::Deleted => {
            return Err(anyhow!(
                "`{name}` was taken back by its author or the registry{reason}"
            ))
            .advise(|| format!("look for another: kitbag servers find {}", name.short()));
        }
    }
    Ok(entry)
}

async fn ask(
    wanted: &Wanted,
    version: Option<&str>,
    registry: &Registry,
) -> Result<RegistryEntry, RegistryError> {
    match (wanted, version) {
        (Wanted::Registered(name), version) => registry.fetch_entry(name, version).await,
        (Wanted::Ours(short), None) => registry.find_by_short_name(short.as_str()).await,
        (Wanted::Ours(short), version) => {
            let latest = registry.find_by_short_name(short.as_str()).await?;
            registry.fetch_entry(&latest.server.name, version).await
        }
    }
}

/// Returns where the server comes from and what it will run, for the person who decides whether to
/// trust it.
fn about(entry: &RegistryEntry, plan: &RunPlan, registry: &Registry) -> String {
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
        // Without a gap it is shown in full right away.
        (
            "Would run:",
            (!plan.inputs.is_empty()).then(|| preview(plan)),
        ),
    ];
    let optional = plan
        .inputs
        .iter()
        .filter(|input| !input.required && input.default.is_none())
        .map(|input| ("Optional:", Some(setting(input))));
    for (label, text) in facts.into_iter().chain(optional) {
        let text = to_one_line(&text.unwrap_or_default());
        if !text.is_empty() {
            lines.push(format!("  {label:<12} {text}"));
        }
    }
    lines.join("\n")
}

fn preview(plan: &RunPlan) -> String {
    let words = plan.preview();
    let words: Vec<_> = words
        .iter()
        .map(|it| quote_template(&literally(it)))
        .collect();
    words.join(" ")
}

fn setting(input: &PlanInput) -> String {
    format!("--set {}=…  {}", input.name, answers::explanation(input))
}

fn reach(filled: FilledPlan) -> Reach {
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

/// Spells the text so that no `$` begins a variable: a variable that is nowhere set has `$` as its
/// default.
fn literally(text: &str) -> String {
    text.replace('$', "${:-$}")
}

#[cfg(test)]
mod tests {
    use kitbag_domain::Template;

    use super::*;

    #[test]
    fn what_is_spelt_literally_means_its_own_letters() {
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
                Template::new(literally(text))
                    .resolve(nothing_is_set)
                    .unwrap(),
                text
            );
        }
    }
}
