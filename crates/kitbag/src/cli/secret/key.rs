//! `kitbag secret key`: the place of the key that secrets are encrypted under.

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use kitbag_config::{Config, KeyLocation, edit};
use kitbag_domain::Action;
use kitbag_store::Store;
use serde_json::json;

use crate::cli::Invocation;
use crate::cli::failure::Advise as _;
use crate::trail;
use kitbag_gateway::secrets::vault::{KEY_VARIABLE, key_from_environment, key_keeper, open_vault};

/// Show where the key is that secrets are encrypted under, or move it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Take the key from where it is to another place, and say so in the configuration.
    #[arg(long, value_name = "PLACE")]
    move_to: Option<KeyDestination>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag secret key
  kitbag secret key --move-to keyring
  kitbag secret key --move-to file";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum KeyDestination {
    /// A file beside the database that only its owner can read.
    File,
    /// The keyring of the operating system.
    Keyring,
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
    let (place, told, exists) = if key_from_environment()?.is_some() {
        (
            KeyLocation::Env,
            format!("the variable {KEY_VARIABLE}"),
            true,
        )
    } else {
        let keeper = key_keeper(config.secret_key, store);
        (
            config.secret_key,
            keeper.location(),
            keeper.read()?.is_some(),
        )
    };
    let result = json!({ "place": place.as_str(), "exists": exists });
    invocation.output.show(&result, |_| match exists {
        true => format!("The key is in place: {told}"),
        false => format!("There is no key yet; the first secret makes one: {told}"),
    })
}

/// The old place is emptied last, so that at every moment one of the two has the key.
async fn move_to(
    target: KeyLocation,
    config: &Config,
    store: &Store,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let path = invocation.at.editable_file()?;
    let given = key_from_environment()?.is_some();
    if config.secret_key == target && !given {
        return Err(anyhow!("the key is kept there already"))
            .advise(|| "see it: kitbag secret key".to_owned());
    }
    let new = key_keeper(target, store);
    let copied = open_vault(config.secret_key, store)?
        .copy_key_to(&*new)
        .await
        .context("the key was not moved")?;
    let text = edit::set_key(&edit::read_file(&path)?, "secrets", "key", target.as_str())?;
    edit::write_file(&path, &text)?;
    if !given && config.secret_key != KeyLocation::Env {
        key_keeper(config.secret_key, store)
            .remove()
            .context("the key was copied, but is still in the old place")?;
    }
    let event = trail::change_event(
        "kitbag secret key",
        Action::SecretKeyChanged,
        target.as_str(),
    );
    trail::record_event(store, event).await?;
    let result = json!({ "place": target.as_str(), "moved": copied });
    invocation.output.show(&result, |_| match copied {
        true => format!("Moved. From now on it is {}", new.location()),
        false => format!(
            "There was no key yet. The first secret makes one: {}",
            new.location()
        ),
    })?;
    if given {
        invocation.output.note(&format!(
            "{KEY_VARIABLE} is still set and comes first; unset it."
        ));
    }
    Ok(())
}

impl From<KeyDestination> for KeyLocation {
    fn from(place: KeyDestination) -> Self {
        match place {
            KeyDestination::File => Self::File,
            KeyDestination::Keyring => Self::Keyring,
        }
    }
}
