//! `kitbag tools import`: generates tool files from an OpenAPI document, checks them, and prints the
//! next steps.
//!
//! - `document`: reads a document from a file or a URL

mod document;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context as _, anyhow};
use clap::Args;
use kitbag_config::Config;
use kitbag_domain::Remedy as _;
use kitbag_tool_files::ToolFile;
use kitbag_tool_files::openapi::{
    ImportAuth, ImportError, ImportOptions, Imported, ImportedFile, import,
};
use kitbag_tool_spec::CredentialName;
use serde_json::{Value, json};

use crate::cli::Invocation;
use crate::cli::failure::{Advise as _, with_advice};
use crate::cli::new_file::write_new;
use crate::cli::output::{pluralize, strip_controls, to_one_line};
use crate::cli::tools::check::{CheckReport, CheckSources, ExtraFiles, WantedChecks, run_checks};

/// Generate tool files from an OpenAPI 3.0 or 3.1 document.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// JSON or YAML file, or https URL.
    spec: String,
    /// Output directory.
    #[arg(long, value_name = "DIR", default_value = "tools")]
    out: PathBuf,
    /// Prefix of all names [default: from the title or the host].
    #[arg(long, value_name = "PREFIX")]
    name: Option<String>,
    /// Only this tag or operation, by its ID or like `GET /pets`; repeatable.
    #[arg(long, value_name = "TAG|OPERATION")]
    only: Vec<String>,
    /// Generate one file per tag, with an action for each operation.
    #[arg(long)]
    group: bool,
    /// URL of the API, to replace the one in the document.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Allow an API in your own network, even over http; its URL goes into the configuration.
    #[arg(long)]
    allow_private: bool,
    /// Authentication to use if the document has none: bearer, basic, header:NAME or query:NAME.
    #[arg(long, value_name = "AUTH")]
    auth: Option<AuthArgument>,
    /// Name of the credential [default: the provider's name].
    #[arg(long, value_name = "NAME")]
    credential: Option<CredentialName>,
    /// Team that owns the tools.
    #[arg(long, value_name = "TEAM")]
    owner: Option<String>,
    /// Show what would be generated without writing anything.
    #[arg(long)]
    dry_run: bool,
    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  kitbag tools import openapi.yaml --dry-run
  kitbag tools import openapi.json --out tools --name desk
  kitbag tools import https://desk.example/openapi.json --only tickets
  kitbag tools import openapi.json --group --only pets --only 'GET /owners'
  kitbag tools import api.json --server http://127.0.0.1:8000 --allow-private";

#[derive(Debug, Clone)]
struct AuthArgument(ImportAuth);

impl FromStr for AuthArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text.split_once(':') {
            None if text == "bearer" => ImportAuth::Bearer,
            None if text == "basic" => ImportAuth::Basic,
            Some(("header", name)) => ImportAuth::ApiKeyHeader(name.to_owned()),
            Some(("query", name)) => ImportAuth::ApiKeyQuery(name.to_owned()),
            _ => return Err("expected bearer, basic, header:NAME or query:NAME".to_owned()),
        }))
    }
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let text = document::read_document(&arguments.spec).await?;
    let imported = import(&text, &arguments.options(), &kitbag_schema::schema_fault);
    let imported = imported.map_err(|error| import_error(error, &arguments.spec))?;
    let mut generated = GeneratedFiles {
        imported,
        out: arguments.out,
        check: None,
        next: Vec::new(),
    };
    if !arguments.dry_run {
        generated.write(arguments.force)?;
        generated.check(invocation).await?;
        generated.next = generated.next_steps(&invocation.config()?);
    }
    invocation.show(&generated.to_json(), |_| generated.to_text())?;
    Ok(crate::cli::to_exit_code(
        generated.check.as_ref().is_none_or(CheckReport::has_passed),
    ))
}

impl Arguments {
    fn options(&self) -> ImportOptions {
        ImportOptions {
            provider: self.name.clone(),
            owner: self.owner.clone(),
            credential: self.credential.as_ref().map(ToString::to_string),
            auth: self.auth.clone().map(|it| it.0),
            server: self.server.clone(),
            private: self.allow_private,
            grouped: self.group,
            only: self.only.clone(),
        }
    }
}

fn import_error(error: ImportError, spec: &str) -> anyhow::Error {
    let remedy = error.remedy();
    let error = anyhow::Error::new(error).context(format!("cannot import {spec}"));
    match remedy {
        Some(remedy) => with_advice(error, remedy),
        None => error,
    }
}

/// The generated files, written unless this is a dry run.
struct GeneratedFiles {
    imported: Imported,
    out: PathBuf,
    /// Absent in a dry run.
    check: Option<CheckReport>,
    next: Vec<String>,
}

impl GeneratedFiles {
    fn path(&self, file: &ImportedFile) -> PathBuf {
        self.out.join(format!("{}.toml", file.slug))
    }

    /// Writes all files, or none if one exists and `over` is false.
    fn write(&self, over: bool) -> anyhow::Result<()> {
        let files = &self.imported.files;
        let there = files
            .iter()
            .map(|file| self.path(file))
            .find(|it| it.exists());
        if let Some(there) = there.filter(|_| !over) {
            return Err(anyhow!("{} already exists", there.display())).advise(|| {
                "choose another directory with --out, or overwrite it with --force".to_owned()
            });
        }
        fs::create_dir_all(&self.out)
            .with_context(|| format!("cannot create {}", self.out.display()))?;
        for file in files {
            let path = self.path(file);
            match over {
                true => fs::write(&path, &file.text)
                    .with_context(|| format!("cannot write {}", path.display()))?,
                false => write_new(&path, &file.text)?,
            }
        }
        Ok(())
    }

    async fn check(&mut self, invocation: &Invocation) -> anyhow::Result<()> {
        let sources =
            CheckSources::from_paths(std::slice::from_ref(&self.out), &ExtraFiles::default())?;
        self.check = Some(run_checks(&sources, &WantedChecks::default(), invocation).await?);
        Ok(())
    }

    /// Returns the next commands and configuration changes.
    fn next_steps(&self, config: &Config) -> Vec<String> {
        let mut steps: Vec<String> = self
            .credentials()
            .into_iter()
            .map(|(name, fields)| format!("kitbag secret set {name} {}", fields.join(" ")))
            .collect();
        if steps.is_empty() {
            steps.push(
                "if the API needs authentication that the document does not describe: import again with --auth bearer --force"
                    .to_owned(),
            );
        }
        steps.extend(self.endpoint_step());
        let out = std::path::absolute(&self.out).unwrap_or_else(|_| self.out.clone());
        if !config.catalog.directories.contains(&out) {
            steps.push(format!(
                "add the directory under [catalog] in the configuration: directories = [{}]",
                toml_path(&out)
            ));
        }
        steps
    }

    /// Returns the configuration entry that allows an API in the operator's own network.
    fn endpoint_step(&self) -> Option<String> {
        let endpoint = self.imported.endpoint.as_ref()?;
        let table = format!("[endpoints.{}]", toml_text(&endpoint.ids));
        let url = endpoint.url.as_deref();
        let url = url.map(|url| format!("\n  url = {}", toml_text(url)));
        Some(format!(
            "add to the configuration, once for all of these files:\n  {table}{}\n  allow_private = true",
            url.unwrap_or_default()
        ))
    }

    /// Returns the credentials that the tools need, with their fields.
    fn credentials(&self) -> BTreeMap<String, Vec<String>> {
        let files = self.imported.files.iter();
        let tools = files.filter_map(|file| ToolFile::read(&self.path(file), &file.text).ok());
        let mut needed = BTreeMap::new();
        for api in tools.filter_map(|tool| tool.api) {
            if let Some(name) = &api.credential {
                let fields = api.credential_fields().into_iter();
                let fields = fields.filter(|field| !api.is_optional(field));
                needed.insert(name.to_string(), fields.map(str::to_owned).collect());
            }
        }
        needed
    }

    fn to_json(&self) -> Value {
        let files: Vec<String> = self
            .imported
            .files
            .iter()
            .map(|file| self.path(file).display().to_string())
            .collect();
        let skipped = self.imported.skipped.iter();
        let skipped = skipped.map(|it| json!({ "operation": it.operation, "reason": it.reason }));
        json!({
            "files": files,
            "skipped": skipped.collect::<Vec<_>>(),
            "check": self.check.as_ref().map(CheckReport::to_json),
            "next": self.next,
        })
    }

    fn to_text(&self) -> String {
        let Imported { files, skipped, .. } = &self.imported;
        let mut lines: Vec<String> = files
            .iter()
            .map(|it| self.path(it).display().to_string())
            .collect();
        let skipped_lines = skipped.iter().map(|it| {
            to_one_line(&strip_controls(&format!(
                "skipped {}: {}",
                it.operation, it.reason
            )))
        });
        lines.extend(skipped_lines);
        let generated = match self.check {
            Some(_) => "Generated",
            None => "Would generate",
        };
        lines.push(format!(
            "{generated} {} in {}; skipped {}.",
            pluralize(files.len(), "file"),
            self.out.display(),
            pluralize(skipped.len(), "operation")
        ));
        lines.extend(self.check.as_ref().map(CheckReport::to_text));
        lines.extend(self.next.iter().map(|step| format!("Next: {step}")));
        lines.join("\n")
    }
}

/// Formats a path as a TOML string.
fn toml_path(path: &Path) -> String {
    toml_text(&path.display().to_string())
}

fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
