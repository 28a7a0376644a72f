//! `kitbag call`: calls one tool the same way a client does.

use std::process::ExitCode;

use clap::Args;
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use kitbag_config::Config;
use serde_json::{Map, Value};

use super::arguments::{overlay_words, parse_object, read_object};
use super::completions::{tool_arguments, tools};
use super::content::{format_block, get_items};
use super::gateway::{CommandGateway, JoinChoice};
use super::output::{Output, strip_controls};
use super::{Invocation, to_exit_code};
use crate::local::requests::CallTool;
use kitbag_gateway::admin::app::CallProgress;

/// Call a tool and print its result.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Tool name, as in `kitbag tools`.
    #[arg(add = ArgValueCandidates::new(tools))]
    name: String,
    /// Arguments: `key=value`, `key:=json`, `outer.inner=value`, or a JSON object.
    #[arg(value_name = "KEY=VALUE", add = ArgValueCompleter::new(tool_arguments))]
    words: Vec<String>,
    /// All arguments as a JSON object, from @FILE, or from stdin (-).
    #[arg(long, value_name = "JSON|@FILE|-")]
    args: Option<String>,
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag call time__get_current_time timezone=Europe/Berlin
  kitbag call github__search query='is:open label:bug' page=2 filter.state=open
  kitbag call github__get id:='\"12\"'
  kitbag call web_fetch '{\"url\": \"https://example.com\"}'
  kitbag call files__write --args @note.json path=/tmp/note.txt

A value is JSON if it parses as JSON, and text otherwise; `:=` requires JSON.
The exit code is 1 when the tool reports an error.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let given = parse_arguments(arguments.args.as_deref(), &arguments.words)?;
    let (config, output) = (invocation.config()?, invocation.output);
    let mut gateway = CommandGateway::join_or_open(arguments.join, &config, invocation).await?;
    let called = call_tool(&mut gateway, &arguments.name, given, &config, output).await;
    gateway.close().await;
    let result = called?;
    invocation.show(&result, format_result)?;
    let failed = result.get("isError").and_then(Value::as_bool);
    Ok(to_exit_code(failed != Some(true)))
}

/// Returns the JSON object before the words or in `--args`, if any, with the words added.
fn parse_arguments(args: Option<&str>, words: &[String]) -> anyhow::Result<Map<String, Value>> {
    let (base, words) = match (args, words) {
        (Some(source), words) => (read_object(source)?, words),
        (None, [object, words @ ..]) if object.starts_with('{') => (parse_object(object)?, words),
        (None, words) => (Map::new(), words),
    };
    Ok(overlay_words(base, words)?)
}

async fn call_tool(
    gateway: &mut CommandGateway,
    name: &str,
    given: Map<String, Value>,
    config: &Config,
    output: Output,
) -> anyhow::Result<Value> {
    if gateway.get_definition(name).await?.is_none() {
        gateway.fetch_listing_of_tool(name, config, output).await?;
    }
    let calling = format!("Calling {name}");
    let shown = output.progress(&calling);
    let (name, arguments) = (name.to_owned(), given);
    gateway
        .ask_with_progress(CallTool { name, arguments }, |step| {
            shown.update(&format!("{calling}: {}", describe_progress(&step)));
        })
        .await
}

/// Formats a progress notification.
fn describe_progress(step: &CallProgress) -> String {
    let part = match step.total.filter(|total| *total > 0.0) {
        Some(total) => format!("{:.0} %", 100.0 * step.progress / total),
        None => step.progress.to_string(),
    };
    match &step.message {
        Some(message) => format!("{part}, {message}"),
        None => part,
    }
}

/// Returns the text of the result. A block that is not text is described. Structured content is
/// printed only if there are no blocks.
pub(super) fn format_result(result: &Value) -> String {
    let blocks = get_items(result, "content").iter();
    let shown: Vec<_> = blocks.map(format_block).collect();
    strip_controls(&match (shown.is_empty(), result.get("structuredContent")) {
        (true, Some(structured)) => format!("{structured:#}"),
        (true, None) => format!("{result:#}"),
        (false, _) => shown.join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn progress_is_a_percentage_if_the_total_is_known() {
        let check = |progress, total, message: Option<&str>, expected: &str| {
            let step = CallProgress {
                progress,
                total,
                message: message.map(str::to_owned),
            };
            assert_eq!(describe_progress(&step), expected);
        };
        check(1.0, Some(3.0), None, "33 %");
        check(2.0, Some(4.0), Some("reading"), "50 %, reading");
        check(17.0, None, Some("files"), "17, files");
        check(1.0, Some(0.0), None, "1");
    }

    #[test]
    fn words_override_the_json_object() {
        let check = |args: Option<&str>, words: &[&str], expected: Value| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(
                Value::Object(parse_arguments(args, &words).unwrap()),
                expected
            );
        };
        check(None, &[], json!({}));
        check(None, &["a=1"], json!({ "a": 1 }));
        check(None, &[r#"{ "a": "b=c" }"#], json!({ "a": "b=c" }));
        check(None, &[r#"{"a":1}"#, "b=2"], json!({ "a": 1, "b": 2 }));
        check(Some(r#"{"a":1}"#), &["a=2"], json!({ "a": 2 }));
        let words = [r#"{"a":1"#.to_owned()];
        let error = parse_arguments(None, &words).unwrap_err().to_string();
        assert!(
            error.starts_with("the arguments are not a JSON object"),
            "{error}"
        );
    }

    #[test]
    fn text_is_printed_and_other_blocks_are_described() {
        let check = |result: Value, expected: &str| assert_eq!(format_result(&result), expected);
        check(
            json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }),
            "a\nb",
        );
        check(
            json!({ "content": [{ "type": "image", "mimeType": "image/png", "data": "AAAA" }] }),
            "[image image/png, about 3 bytes]",
        );
        check(
            json!({ "content": [{ "type": "resource", "resource": { "uri": "x:y", "text": "t" } }] }),
            "t",
        );
        check(
            json!({ "content": [{ "type": "resource", "resource": { "uri": "x:y", "blob": "" } }] }),
            "[x:y]",
        );
        check(
            json!({ "content": [], "structuredContent": { "n": 1 } }),
            "{\n  \"n\": 1\n}",
        );
        check(
            json!({ "content": [{ "type": "hologram" }] }),
            "{\n  \"type\": \"hologram\"\n}",
        );
    }
}
