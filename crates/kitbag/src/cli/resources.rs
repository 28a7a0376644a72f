//! `kitbag resources`: lists and reads resources the same way a client does.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use kitbag_domain::ServerName;
use serde_json::{Value, json};

use super::Invocation;
use super::completions;
use super::content::{get_items, get_str};
use super::failure::Advise as _;
use super::gateway::{CommandGateway, JoinChoice};
use super::listing::{ListArguments, OfferedRow, list};
use super::output::{Output, format_table, pluralize, strip_controls};
use crate::local::requests::{ListResources, ReadResource};
use kitbag_domain::text::first_sentence;
use kitbag_gateway::admin::offers::ResourceRow;

/// List the resources and templates a client sees, or read one.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    listing: ListArguments,
}

const EXAMPLES: &str = "\
Examples:
  kitbag resources
  kitbag resources --server docs --json
  kitbag resources read file:///home/ann/notes.md

In a template's URI, replace the parts in braces with values.";

#[derive(Debug, Subcommand)]
enum Verb {
    Read(ReadArguments),
}

/// Write a resource to stdout or a file.
#[derive(Debug, Args)]
#[command(after_help = READ_EXAMPLES)]
struct ReadArguments {
    /// URI, as in `kitbag resources`.
    #[arg(add = ArgValueCandidates::new(completions::resources))]
    uri: String,
    /// Write the exact content to this file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    join: JoinChoice,
}

const READ_EXAMPLES: &str = "\
Examples:
  kitbag resources read file:///home/ann/notes.md
  kitbag resources read chart://sales/2026 --output sales.png
  kitbag resources read kitbag://server/docs/file:///readme.md --json

At a terminal, control characters are removed from text, and binary content is
not shown. Pipes and files receive the exact content.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Some(Verb::Read(wanted)) => read_resource(&wanted, invocation).await?,
        None => list::<ResourceRow>(&arguments.listing, invocation).await?,
    }
    Ok(ExitCode::SUCCESS)
}

impl OfferedRow for ResourceRow {
    const NOUN: &'static str = "resources";

    fn server(&self) -> &ServerName {
        &self.server
    }

    async fn fetch_rows(gateway: &mut CommandGateway) -> anyhow::Result<Vec<Self>> {
        gateway.ask(ListResources {}).await
    }

    fn format_table(rows: &[Self]) -> String {
        format_table(
            ["URI", "KIND", "SERVER", "DESCRIPTION"],
            rows.iter().map(cells),
        )
    }
}

fn cells(row: &ResourceRow) -> [String; 4] {
    let kind = if row.template { "template" } else { "resource" };
    let about = row
        .description
        .as_deref()
        .or(row.name.as_deref())
        .unwrap_or_default();
    [
        row.uri.clone(),
        kind.to_owned(),
        row.server.to_string(),
        first_sentence(about),
    ]
}

async fn read_resource(wanted: &ReadArguments, invocation: &Invocation) -> anyhow::Result<()> {
    let mut gateway =
        CommandGateway::join_or_open(wanted.join, &invocation.config()?, invocation).await?;
    let fetched = fetch_resource(&mut gateway, &wanted.uri, invocation.output).await;
    gateway.close().await;
    let result = fetched?;
    match &wanted.output {
        Some(path) => save_to_file(&result, path, wanted, invocation.output),
        None if invocation.output.json => invocation.show(&result, |_| String::new()),
        None => write_to_stdout(&result, wanted),
    }
}

/// Servers that were never listed are listed only if no other server has the resource.
async fn fetch_resource(
    gateway: &mut CommandGateway,
    uri: &str,
    output: Output,
) -> anyhow::Result<Value> {
    if !gateway
        .ask(ListResources {})
        .await?
        .iter()
        .any(|row| row.uri == uri)
    {
        gateway.fetch_listings(None, output).await?;
    }
    let uri = uri.to_owned();
    let what = format!("Reading {uri}");
    output
        .with_progress(&what, gateway.ask(ReadResource { uri }))
        .await
}

/// Writes the resource to the file of `--output`.
fn save_to_file(
    result: &Value,
    path: &Path,
    wanted: &ReadArguments,
    output: Output,
) -> anyhow::Result<()> {
    let parts = parse_parts(result)?;
    let [part] = parts.as_slice() else {
        return Err(anyhow!(
            "`{}` has {} and cannot be written to a single file",
            wanted.uri,
            pluralize(parts.len(), "part")
        ))
        .advise(|| SEVERAL.to_owned());
    };
    let bytes = part.bytes();
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    let report = json!({ "uri": wanted.uri, "file": path, "bytes": bytes.len() });
    output.show(&report, |_| {
        format!(
            "Wrote {} to {}",
            pluralize(bytes.len(), "byte"),
            path.display()
        )
    })
}

fn write_to_stdout(result: &Value, wanted: &ReadArguments) -> anyhow::Result<()> {
    let bytes = to_stdout_bytes(
        &parse_parts(result)?,
        io::stdout().is_terminal(),
        &wanted.uri,
    )?;
    // Colours in piped text are content, so this bypasses the styled stdout.
    let mut stdout = io::stdout().lock();
    stdout.write_all(&bytes)?;
    Ok(stdout.flush()?)
}

/// Returns the bytes for stdout: a single part unchanged, unless stdout is a terminal; several text
/// parts joined by line breaks.
fn to_stdout_bytes(
    parts: &[ResourcePart],
    at_terminal: bool,
    uri: &str,
) -> anyhow::Result<Vec<u8>> {
    if let ([part], false) = (parts, at_terminal) {
        return Ok(part.bytes().to_owned());
    }
    let mut lines = String::new();
    for part in parts {
        let ResourcePart::Text(text) = part else {
            return not_text_error(part, parts.len(), uri);
        };
        let text = if at_terminal {
            strip_controls(text)
        } else {
            text.clone()
        };
        lines.push_str(text.trim_end_matches('\n'));
        lines.push('\n');
    }
    Ok(lines.into_bytes())
}

/// One part of a resource; a folder may have several.
#[derive(Debug)]
enum ResourcePart {
    Text(String),
    Binary {
        kind: Option<String>,
        bytes: Vec<u8>,
    },
}

impl ResourcePart {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary { bytes, .. } => bytes,
        }
    }
}

fn parse_parts(result: &Value) -> anyhow::Result<Vec<ResourcePart>> {
    let contents = get_items(result, "contents").iter();
    contents.map(parse_part).collect()
}

fn parse_part(content: &Value) -> anyhow::Result<ResourcePart> {
    match (get_str(content, "text"), get_str(content, "blob")) {
        (Some(text), _) => Ok(ResourcePart::Text(text.to_owned())),
        (None, Some(blob)) => {
            let bytes = BASE64
                .decode(blob)
                .context("the server sent invalid Base64")?;
            Ok(ResourcePart::Binary {
                kind: get_str(content, "mimeType").map(str::to_owned),
                bytes,
            })
        }
        (None, None) => Err(anyhow!("the server sent neither text nor binary content"))
            .advise(|| "print the response with --json".to_owned()),
    }
}

/// Some servers omit the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Returns the error for a binary part where only text can be printed.
fn not_text_error<T>(part: &ResourcePart, parts: usize, uri: &str) -> anyhow::Result<T> {
    let kind = match part {
        ResourcePart::Binary {
            kind: Some(kind), ..
        } => format!("{kind}, "),
        ResourcePart::Binary { kind: None, .. } | ResourcePart::Text(_) => String::new(),
    };
    let size = pluralize(part.bytes().len(), "byte");
    let advice = if parts == 1 {
        "write it to a file: --output FILE"
    } else {
        SEVERAL
    };
    Err(anyhow!("`{uri}` is not text ({kind}{size})")).advise(|| advice.to_owned())
}

const SEVERAL: &str = "print its parts with --json";

#[cfg(test)]
mod tests {
    use super::super::failure::CommandFailure;
    use super::*;

    /// Checks the output at a terminal and elsewhere; errors are compared with their remedy.
    #[track_caller]
    fn check(contents: &Value, terminal: Result<&str, &str>, elsewhere: Result<&[u8], &str>) {
        let shown = |at_terminal| {
            let parts = parse_parts(&json!({ "contents": contents }));
            let shown = parts.and_then(|parts| to_stdout_bytes(&parts, at_terminal, "x:y"));
            shown.map_err(|error| {
                anstream::adapter::strip_str(&CommandFailure::from_error(&error).to_string())
                    .to_string()
            })
        };
        let found = shown(true).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(
            found.as_deref().map_err(String::as_str),
            terminal,
            "{contents}"
        );
        assert_eq!(
            shown(false).as_deref().map_err(String::as_str),
            elsewhere,
            "{contents}"
        );
    }

    #[test]
    fn a_terminal_gets_stripped_text_and_a_pipe_gets_the_exact_bytes() {
        check(
            &json!([{ "text": "a\u{1b}[2Jb\n\n" }]),
            Ok("ab\n"),
            Ok(b"a\x1b[2Jb\n\n"),
        );
        check(
            &json!([{ "blob": "AAE", "mimeType": "image/png" }]),
            Err(
                "error: `x:y` is not text (image/png, 2 bytes)\n  try: write it to a file: --output FILE",
            ),
            Ok(&[0, 1]),
        );
    }

    #[test]
    fn several_parts_are_printed_if_all_are_text() {
        check(
            &json!([{ "text": "a" }, { "text": "b\n" }]),
            Ok("a\nb\n"),
            Ok(b"a\nb\n"),
        );
        let refused = Err("error: `x:y` is not text (1 byte)\n  try: print its parts with --json");
        check(
            &json!([{ "text": "a" }, { "blob": "AA==" }]),
            refused,
            refused.map(str::as_bytes),
        );
    }

    #[test]
    fn invalid_contents_are_reported_as_the_servers_fault() {
        let refused = Err(
            "error: the server sent neither text nor binary content\n  try: print the response with --json",
        );
        check(
            &json!([{ "uri": "x:y" }]),
            refused,
            refused.map(str::as_bytes),
        );
    }
}
