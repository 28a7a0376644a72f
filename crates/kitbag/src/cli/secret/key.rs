//! `kitbag secret key`: where the encryption key of the secrets is stored.

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use kitbag_config::{Config, KeyLocation, edit};
use kitbag_domain::Action;
use kitbag_store::Store;
use serde_json::json;

use crate::cli::Invocation;
use crate::cli::failure::Advise as _;
use crate::trail;
use kitbag_gateway::secrets::vault::{KEY_VARIABLE, key_from_environment, key_store, open_vault};

/// Show where the encryption key of the secrets is stored, or move it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Move the key, and update the configuration.
    #[arg(long, value_name = "PLACE")]
    move_to: Option<KeyDestination>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag secret key
  kitbag secret key --move-to file";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum KeyDestination {
    /// A file next to the database, readable only by its owner.
    File,
}

pub(super) async fn run(
    arguments: &Arguments,
    config: &Config,
    store: &Store,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    match arguments.move_to {
        Some(place) => move_to(place.into(), config, store, invocation).await,
        None => show(config, store, invocation),
    }
}

fn show(config: &Config, store: &Store, invocation: &Invocation) -> anyhow::Result<()> {
    let (place, location, exists) = if key_from_environment()?.is_some() {
        (KeyLocation::Env, format!("variable {KEY_VARIABLE}"), true)
    } else {
        let keeper = key_store(config.secret_key, store);
        (
            config.secret_key,
            keeper.location(),
            keeper.read()?.is_some(),
        )
    };
    let result = json!({ "place": place.as_str(), "exists": exists });
    invocation.show(&result, |_| match exists {
        true => format!("The key is in: {location}"),
        false => format!("No key yet; storing the first secret creates one in: {location}"),
    })
}

/// Deletes the old key last, so that one of the two locations has the key at any time.
async fn move_to(
    target: KeyLocation,
    config: &Config,
    store: &Store,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let path = invocation.source.editable_file()?;
    let given = key_from_environment()?.is_some();
    if config.secret_key == target && !given {
        return Err(anyhow!("the key is already stored there"))
            .advise(|| "to show it: kitbag secret key".to_owned());
    }
    let new = key_store(target, store);
    let copied = open_vault(config.secret_key, store)?
        .copy_key_to(&*new)
        .await
        .context("cannot move the key")?;
    let text = edit::set_key(&edit::read_file(&path)?, "secrets", "key", target.as_str())?;
    edit::write_file(&path, &text)?;
    if !given && config.secret_key != KeyLocation::Env {
        key_store(config.secret_key, store)
            .remove()
            .context("the key was copied but not removed from the old location")?;
    }
    let event = trail::change_event(
        "kitbag secret key",
        Action::SecretKeyChanged,
        target.as_str(),
    );
    trail::record_event(store, event).await?;
    let result = json!({ "place": target.as_str(), "moved": copied });
    invocation.show(&result, |_| match copied {
        true => format!("Moved the key to: {}", new.location()),
        false => format!(
            "No key yet; storing the first secret creates one in: {}",
            new.location()
        ),
    })?;
    if given {
        invocation.note(&format!(
            "{KEY_VARIABLE} is still set and takes precedence; unset it."
        ));
    }
    Ok(())
}

impl From<KeyDestination> for KeyLocation {
    fn from(place: KeyDestination) -> Self {
        match place {
            KeyDestination::File => Self::File,
        }
    }
}
