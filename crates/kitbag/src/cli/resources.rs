//! `kitbag resources`: the resources of servers, listed and read in the same way as by any client.

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
use super::content::get_str;
use super::failure::Advise as _;
use super::gateway::{CommandGateway, JoinChoice};
use super::listing::{ListArguments, OfferedRow, list};
use super::output::{Output, format_table, pluralize, strip_controls};
use crate::local::requests::{ListResources, ReadResource};
use kitbag_domain::text::first_sentence;
use kitbag_gateway::admin::offers::ResourceRow;

/// Show the resources and templates a client sees, or read one.
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

In a template's URI, put a value in the place of what stands in braces.";

#[derive(Debug, Subcommand)]
enum Verb {
    Read(ReadArguments),
}

/// Write what is in a resource to stdout or into a file.
#[derive(Debug, Args)]
#[command(after_help = READ_EXAMPLES)]
struct ReadArguments {
    /// As `kitbag resources` shows it.
    #[arg(add = ArgValueCandidates::new(completions::resources))]
    uri: String,
    /// Write it into this file, to the letter.
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

At a terminal, what could steer it is left out of a text, and what is no text
is not shown. A pipe and a file get everything as it is.";

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
    let asked = fetch_resource(&mut gateway, &wanted.uri, invocation.output).await;
    gateway.close().await;
    let result = asked?;
    match &wanted.output {
        Some(path) => save_to_file(&result, path, wanted, invocation.output),
        None if invocation.output.json => invocation.output.show(&result, |_| String::new()),
        None => write_to_stdout(&result, wanted),
    }
}

/// Servers that have not been asked what they offer are asked only if no other server has the
/// resource.
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

/// Writes the resource into a file that the person named.
fn save_to_file(
    result: &Value,
    path: &Path,
    wanted: &ReadArguments,
    output: Output,
) -> anyhow::Result<()> {
    let parts = parse_parts(result)?;
    let [part] = parts.as_slice() else {
        return Err(anyhow!(
            "`{}` has {} and fits no single file",
            wanted.uri,
            pluralize(parts.len(), "part")
        ))
        .advise(|| SEVERAL.to_owned());
    };
    let bytes = part.bytes();
    fs::write(path, bytes)
        .with_context(|| format!("the file {} cannot be written", path.display()))?;
    let told = json!({ "uri": wanted.uri, "file": path, "bytes": bytes.len() });
    output.show(&told, |_| {
        format!(
            "Wrote {} into {}",
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
    // Colours of a text in a pipe are part of the text, so this writes to stdout itself.
    let mut stdout = io::stdout().lock();
    stdout.write_all(&bytes)?;
    Ok(stdout.flush()?)
}

/// Returns the bytes for stdout: a single part as it is, unless it goes to a terminal; of several,
/// the texts one below the other.
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

/// One part of a resource; a folder may have several parts.
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
    let contents = result.get("contents").and_then(Value::as_array);
    contents
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .map(parse_part)
        .collect()
}

fn parse_part(content: &Value) -> anyhow::Result<ResourcePart> {
    match (get_str(content, "text"), get_str(content, "blob")) {
        (Some(text), _) => Ok(ResourcePart::Text(text.to_owned())),
        (None, Some(blob)) => {
            let bytes = BASE64
                .decode(blob)
                .context("the server sent bytes that are not Base64")?;
            Ok(ResourcePart::Binary {
                kind: get_str(content, "mimeType").map(str::to_owned),
                bytes,
            })
        }
        (None, None) => Err(anyhow!("the server sent neither text nor bytes"))
            .advise(|| "see what it sent with --json".to_owned()),
    }
}

/// Some servers leave out the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Refuses a part that is no text, where only text can be shown.
fn not_text_error<T>(part: &ResourcePart, parts: usize, uri: &str) -> anyhow::Result<T> {
    let kind = match part {
        ResourcePart::Binary {
            kind: Some(kind), ..
        } => format!("{kind}, "),
        ResourcePart::Binary { kind: None, .. } | ResourcePart::Text(_) => String::new(),
    };
    let size = pluralize(part.bytes().len(), "byte");
    let advice = if parts == 1 {
        "write it into a file: --output FILE"
    } else {
        SEVERAL
    };
    Err(anyhow!("`{uri}` is not text ({kind}{size})")).advise(|| advice.to_owned())
}

const SEVERAL: &str = "see its parts with --json";

#[cfg(test)]
mod tests {
    use super::super::failure::CommandFailure;
    use super::*;

    /// Checks what is shown of these contents at a terminal and elsewhere; or the reason why not,
    /// with the advice.
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
    fn a_terminal_gets_harmless_text_and_a_pipe_gets_everything() {
        check(
            &json!([{ "text": "a\u{1b}[2Jb\n\n" }]),
            Ok("ab\n"),
            Ok(b"a\x1b[2Jb\n\n"),
        );
        check(
            &json!([{ "blob": "AAE", "mimeType": "image/png" }]),
            Err(
                "error: `x:y` is not text (image/png, 2 bytes)\n  try: write it into a file: --output FILE",
            ),
            Ok(&[0, 1]),
        );
    }

    #[test]
    fn several_parts_are_shown_if_all_of_them_are_text() {
        check(
            &json!([{ "text": "a" }, { "text": "b\n" }]),
            Ok("a\nb\n"),
            Ok(b"a\nb\n"),
        );
        let refused = Err("error: `x:y` is not text (1 byte)\n  try: see its parts with --json");
        check(
            &json!([{ "text": "a" }, { "blob": "AA==" }]),
            refused,
            refused.map(str::as_bytes),
        );
    }

    #[test]
    fn contents_that_make_no_sense_are_told_as_the_servers_fault() {
        let refused = Err(
            "error: the server sent neither text nor bytes\n  try: see what it sent with --json",
        );
        check(
            &json!([{ "uri": "x:y" }]),
            refused,
            refused.map(str::as_bytes),
        );
    }
}
