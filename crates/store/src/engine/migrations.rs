//! The migrations of an engine, from their files.
//!
//! `sqlx::migrate!` does the same, but compiles both drivers a second time, for the compiler.

use std::borrow::Cow;

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// The name of a migration's file without `.sql`, and its content.
pub(super) type MigrationFile = (&'static str, &'static str);

/// Embeds the named files of `migrations/<engine>`.
macro_rules! migration_files {
    ($engine:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../migrations/", $engine, "/", $name, ".sql")))),*]
    };
}
pub(super) use migration_files;

pub(super) fn build_migrator(files: &[MigrationFile]) -> Migrator {
    Migrator::with_migrations(files.iter().map(to_migration).collect())
}

/// `0003_audit_events` is version 3, `audit events`.
fn to_migration((name, sql): &MigrationFile) -> Migration {
    let (version, description) = name.split_once('_').expect("a test reads every name");
    Migration::new(
        version.parse().expect("a test reads every name"),
        Cow::Owned(description.replace('_', " ")),
        MigrationType::Simple,
        (*sql).into_sql_str(),
        false,
    )
}
