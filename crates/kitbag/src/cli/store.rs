//! `kitbag store`: backs up, restores and migrates the store.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use kitbag_config::Config;
use kitbag_domain::{Action, Template};
use kitbag_store::{CopyProgress, CopyReport, Store, StoreAddress, copy_store};
use serde_json::json;

use super::Invocation;
use super::failure::Advise as _;
use super::output::{format_table, pluralize};
use crate::cli::open_store::open_store;
use crate::local::gateway_connection::{JoinOutcome, join_gateway};
use crate::local::protocol::Want;
use crate::trail;
use kitbag_gateway::secrets::vault::{key_from_environment, key_store, open_vault};
use kitbag_gateway::state::store_address::{StoreConfigError, store_address};

/// Back up, restore or migrate the store.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag store backup ~/kitbag-backup.db
  kitbag store restore ~/kitbag-backup.db
  kitbag store migrate --to 'postgres://kitbag:${PGPASSWORD}@db.example/kitbag'

An address is a path, or postgres://user@host/database. Environment variables
in it are expanded.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Copy a store into an empty one, or resume an interrupted copy.
    #[command(
        after_help = "Examples:\n  kitbag store migrate --to postgres://kitbag@db.example/kitbag\n  \
                      kitbag store migrate --from old.db --to new.db"
    )]
    Migrate {
        /// Store to copy [default: the configured one].
        #[arg(long, value_name = "ADDRESS")]
        from: Option<String>,
        /// Store to copy into.
        #[arg(long, value_name = "ADDRESS")]
        to: String,
    },
    /// Back up the store to a file, even while a gateway runs.
    #[command(after_help = "Examples:\n  kitbag store backup ~/kitbag-backup.db")]
    Backup {
        /// Backup file; must not exist yet.
        file: PathBuf,
    },
    /// Restore a backup into an empty store.
    #[command(
        after_help = "Examples:\n  kitbag store restore ~/kitbag-backup.db\n  \
                      kitbag store restore ~/kitbag-backup.db --to new.db"
    )]
    Restore {
        /// Backup file written by `kitbag store backup`.
        file: PathBuf,
        /// Store to restore into [default: the configured one].
        #[arg(long, value_name = "ADDRESS")]
        to: Option<String>,
    },
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    match arguments.verb {
        Verb::Migrate { from, to } => {
            migrate_store(from.as_deref(), &to, &config, invocation).await?;
        }
        Verb::Backup { file } => back_up(&file, &config, invocation).await?,
        Verb::Restore { file, to } => {
            restore_backup(&file, to.as_deref(), &config, invocation).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn migrate_store(
    from: Option<&str>,
    to: &str,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    reject_running_gateway(config, invocation).await?;
    let from = Store::open(parse_or_configured(from, config)?)
        .await
        .context("cannot open the source store")?;
    let to = Store::open(parse_address(to, config)?)
        .await
        .context("cannot open the target store")?;
    let report = copy_with_progress(&from, &to, invocation).await?;
    move_secret_key(&from, &to, config).await?;
    record_copy(&to, from.location()).await?;
    let addresses = (from.location().to_owned(), to.location().to_owned());
    from.close().await;
    to.close().await;
    show_report(&report, &addresses, invocation)?;
    invocation.note("To use it, set `url` or `path` under [store], or pass --store.");
    Ok(())
}

async fn back_up(file: &Path, config: &Config, invocation: &Invocation) -> anyhow::Result<()> {
    let store = open_store(config, "cannot open the store").await?;
    let progress = invocation.output.progress("Backing up");
    let done = store
        .back_up(file, |step| progress.update(&format_progress(step)))
        .await;
    drop(progress);
    done?;
    let key = key_store(config.secret_key, &store).location();
    store.close().await;
    let result = json!({ "file": file, "secret_key": key });
    invocation.show(&result, |_| format!("Backup written to {}", file.display()))?;
    invocation.note(&format!(
        "The key to its secrets and logins is not in the backup: {key}. Back it up separately."
    ));
    Ok(())
}

async fn restore_backup(
    file: &Path,
    to: Option<&str>,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    if !file.is_file() {
        return Err(anyhow!("file not found: {}", file.display()))
            .advise(|| "pass a file written by `kitbag store backup`".to_owned());
    }
    reject_running_gateway(config, invocation).await?;
    let backup = Store::open(file).await.context("cannot read the backup")?;
    let to = Store::open(parse_or_configured(to, config)?)
        .await
        .context("cannot open the target store")?;
    let report = copy_with_progress(&backup, &to, invocation).await?;
    record_copy(&to, backup.location()).await?;
    let addresses = (backup.location().to_owned(), to.location().to_owned());
    backup.close().await;
    to.close().await;
    show_report(&report, &addresses, invocation)
}

/// The copy would miss writes by a running gateway.
async fn reject_running_gateway(config: &Config, invocation: &Invocation) -> anyhow::Result<()> {
    match join_gateway(&invocation.source, Some(config), Want::Ask).await {
        JoinOutcome::Nothing => Ok(()),
        JoinOutcome::Joined(_) | JoinOutcome::Refused { .. } => {
            Err(anyhow!("a gateway is running for this configuration"))
                .advise(|| "stop it first, then start it with the new store".to_owned())
        }
    }
}

async fn copy_with_progress(
    from: &Store,
    to: &Store,
    invocation: &Invocation,
) -> anyhow::Result<CopyReport> {
    let progress = invocation.output.progress("Copying");
    let report = copy_store(from, to, |step| progress.update(&format_progress(step))).await;
    drop(progress);
    Ok(report?)
}

/// Moves the encryption key of the secrets, which is not in the store: a key file belongs to one
/// store.
async fn move_secret_key(from: &Store, to: &Store, config: &Config) -> anyhow::Result<()> {
    if key_from_environment()?.is_some() {
        return Ok(());
    }
    let target = key_store(config.secret_key, to);
    open_vault(config.secret_key, from)?
        .copy_key_to(&*target)
        .await
        .context("copied everything except the key to the secrets")?;
    Ok(())
}

async fn record_copy(to: &Store, from: &str) -> anyhow::Result<()> {
    let event = trail::change_event(&trail::typed_verb(), Action::StoreCopied, from);
    trail::record_event(to, event).await
}

fn parse_or_configured(named: Option<&str>, config: &Config) -> anyhow::Result<StoreAddress> {
    match named {
        Some(named) => parse_address(named, config),
        None => Ok(store_address(config)?),
    }
}

fn parse_address(text: &str, config: &Config) -> anyhow::Result<StoreAddress> {
    let filled = Template::new(text).resolve(|variable| std::env::var(variable).ok());
    let filled = filled.map_err(StoreConfigError::from)?;
    let address = StoreAddress::parse(&filled, &config.data_dir);
    Ok(address.map_err(StoreConfigError::from)?)
}

fn format_progress(step: CopyProgress) -> String {
    let CopyProgress { table, rows, of } = step;
    format!("Copying {table}: {rows} of {of} rows")
}

fn show_report(
    report: &CopyReport,
    (from, to): &(String, String),
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let rows: serde_json::Map<_, _> = report
        .tables
        .iter()
        .map(|(table, rows)| ((*table).to_owned(), json!(rows)))
        .collect();
    let result = json!({ "from": from, "to": to, "resumed": report.resumed, "rows": rows });
    invocation.show(&result, |_| format_report(report, from, to))
}

fn format_report(report: &CopyReport, from: &str, to: &str) -> String {
    let total: u64 = report.tables.iter().map(|(_, rows)| rows).sum();
    let resumed = if report.resumed {
        "Resumed an earlier copy. "
    } else {
        ""
    };
    let rows = report
        .tables
        .iter()
        .map(|(table, rows)| [(*table).to_owned(), rows.to_string()]);
    let rows = format_table(["TABLE", "ROWS"], rows);
    let total = pluralize(usize::try_from(total).unwrap_or(usize::MAX), "row");
    format!("{resumed}Copied {total} from {from} to {to}; counts match.\n\n{rows}")
}
