//! Flags and variables that override the configuration file.

use kitbag_config::show::{Origin, Override};
use kitbag_config::{KeyLocation, Overrides, parse_bind};
use kitbag_domain::Surface;
use std::net::SocketAddr;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory as _};
use kitbag_store::StoreAddress;
use toml::Value;

use super::Cli;
use kitbag_gateway::secrets::vault::KEY_VARIABLE;

/// Flags that override the `[serve]` section.
#[derive(Debug, Args)]
pub(super) struct ServeOverrides {
    /// Surface for paths without one: search, adaptive, code or all.
    #[arg(
        long,
        env = "KITBAG_SURFACE",
        hide_env_values = true,
        value_name = "SURFACE"
    )]
    pub(super) surface: Option<Surface>,
    /// Address to listen on [default: 127.0.0.1:7420].
    #[arg(long, env = "KITBAG_BIND", hide_env_values = true, value_name = "ADDRESS", value_parser = parse_address)]
    bind: Option<SocketAddr>,
    /// Reject clients without a key, even on this machine.
    #[arg(
        long,
        env = "KITBAG_REQUIRE_KEY",
        hide_env_values = true,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    require_key: Option<bool>,
}

impl ServeOverrides {
    pub(super) fn apply(&self, overrides: &mut Overrides) {
        overrides.bind = self.bind;
        overrides.require_key = self.require_key;
        overrides.surface = self.surface;
    }

    /// True if an address or a key rule was typed: the running gateway already has its own. Environment
    /// variables apply to every gateway.
    pub(super) fn sets_address() -> bool {
        let typed = TypedArguments::read();
        typed.has("bind") || typed.has("require_key")
    }
}

/// Parses a listen address; the error shows the expected form.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    parse_bind(text).map_err(|problem| match problem.remedy() {
        Some(remedy) => format!("{problem}; {remedy}"),
        None => problem.to_string(),
    })
}

/// Lists values set outside the file, with the flag or variable that set each.
pub(super) fn list_overrides(overrides: &Overrides) -> Vec<Override> {
    let typed = TypedArguments::read();
    let bind = overrides.bind.map(|bind| Value::String(bind.to_string()));
    let require_key = overrides.require_key.map(Value::Boolean);
    let surface = overrides
        .surface
        .map(|surface| Value::String(surface.as_str().to_owned()));
    let key =
        std::env::var_os(KEY_VARIABLE).map(|_| Value::String(KeyLocation::Env.as_str().to_owned()));
    let store = overrides
        .store
        .as_ref()
        .map(|address| to_store_override(address));
    let given = [
        (
            ("store", store.as_ref().map_or("path", |(key, _)| key)),
            store.map(|(_, value)| value),
            ("store", "--store", "KITBAG_STORE"),
        ),
        (("serve", "bind"), bind, ("bind", "--bind", "KITBAG_BIND")),
        (
            ("serve", "require_key"),
            require_key,
            ("require_key", "--require-key", "KITBAG_REQUIRE_KEY"),
        ),
        (
            ("surfaces", "default"),
            surface,
            ("surface", "--surface", "KITBAG_SURFACE"),
        ),
    ];
    let given = given
        .into_iter()
        .filter_map(|(key, value, (argument, flag, variable))| {
            Some(Override {
                key,
                value: value?,
                origin: typed.origin(argument, flag, variable),
            })
        });
    let origin = Origin::Variable { name: KEY_VARIABLE };
    given
        .chain(key.map(|value| Override {
            key: ("secrets", "key"),
            value,
            origin,
        }))
        .collect()
}

/// Returns the key set by a store address, and the address as it may be shown.
fn to_store_override(address: &str) -> (&'static str, Value) {
    match StoreAddress::parse(address, Path::new("")) {
        Ok(StoreAddress::Postgres(address)) => ("url", Value::String(address.to_string())),
        Ok(StoreAddress::Sqlite(path)) => ("path", Value::String(path.display().to_string())),
        // An invalid address may contain a password.
        Err(_) => ("url", Value::String("…".to_owned())),
    }
}

/// Returns where the data directory was set: flag, variable or default.
pub(super) fn data_dir_origin(overrides: &Overrides) -> Origin {
    match overrides.data_dir {
        Some(_) => TypedArguments::read().origin("data_dir", "--data-dir", "KITBAG_DATA_DIR"),
        None => Origin::Default,
    }
}

/// The command line, parsed again: parsed arguments do not record whether a value was typed or came
/// from the environment.
struct TypedArguments(ArgMatches);

impl TypedArguments {
    fn read() -> Self {
        let mut matches = Cli::command().get_matches();
        while let Some((_, inner)) = matches.remove_subcommand() {
            matches = inner;
        }
        Self(matches)
    }

    fn has(&self, argument: &str) -> bool {
        self.0.value_source(argument) == Some(ValueSource::CommandLine)
    }

    fn origin(&self, argument: &str, flag: &'static str, variable: &'static str) -> Origin {
        match self.0.value_source(argument) {
            Some(ValueSource::EnvVariable) => Origin::Variable { name: variable },
            _ => Origin::Flag { name: flag },
        }
    }
}
