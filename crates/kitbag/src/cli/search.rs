//! `kitbag search`: finds tools for a query and explains their scores.

use kitbag_domain::WriteClass;
use std::process::ExitCode;

use clap::Args;
use kitbag_relevance::{MAX_TOP_K, Options};

use super::Invocation;
use super::gateway::{CommandGateway, JoinChoice};
use super::index::format_progress;
use super::learned::priors::{milliseconds, minute, percent, usd};
use super::output::{Output, format_table};
use crate::local::requests::SearchTools;
use kitbag_domain::text::first_sentence;
use kitbag_gateway::admin::search::{FoundPriors, FoundTool, SearchResult};

/// Find tools for a task.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What you want to do, in your own words.
    #[arg(required = true)]
    query: Vec<String>,
    /// Maximum number of tools, at most 20.
    #[arg(short = 'n', long, default_value_t = 5, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    top: u16,
    /// Show score components and each tool's track record.
    #[arg(long)]
    explain: bool,
    /// Omit tools that cost more than this per call, in US dollars.
    #[arg(long, value_name = "USD")]
    max_cost: Option<f64>,
    /// With --max-cost, keep tools of unknown cost.
    #[arg(long, requires = "max_cost")]
    unknown_cost: bool,
    /// Omit tools with a p99 latency above this, in milliseconds.
    #[arg(long, value_name = "MS")]
    max_latency: Option<f64>,
    /// Only tools of this server or API; repeatable.
    #[arg(long, alias = "provider", value_name = "NAME")]
    server: Vec<String>,
    /// Only tools with this tag.
    #[arg(long)]
    tag: Vec<String>,
    /// Only tools with this effect: read, write, destructive or unknown.
    #[arg(long, value_name = "CLASS", value_parser = parse_write_class)]
    write_class: Vec<WriteClass>,
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag search open an issue about the login bug
  kitbag search 'what changed since yesterday' --explain
  kitbag search delete old files --write-class destructive -n 3";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let mut gateway =
        CommandGateway::join_or_open(arguments.join, &invocation.config()?, invocation).await?;
    let (query, explain) = (arguments.query.join(" "), arguments.explain);
    let searched = search_tools(
        &mut gateway,
        query,
        arguments.into_options(),
        invocation.output,
    )
    .await;
    gateway.close().await;
    print_result(&searched?, explain, invocation.output)?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn into_options(self) -> Options {
        Options {
            top_k: usize::from(self.top).min(MAX_TOP_K),
            max_cost_usd: self.max_cost,
            include_unknown_cost: self.unknown_cost,
            max_latency_ms_p99: self.max_latency,
            servers: self.server,
            tags: self.tag,
            write_classes: self.write_class,
            ..Options::default()
        }
    }
}

fn print_result(searched: &SearchResult, explain: bool, output: Output) -> anyhow::Result<()> {
    if let Some(warning) = &searched.warning {
        output.warn(warning);
    }
    for line in searched.withheld.lines() {
        output.note(&line);
    }
    if explain {
        for tool in &searched.withheld_tools {
            output.note(&format!("{}: {}", tool.tool_name, tool.reason.as_str()));
        }
    }
    if let Some(corrected) = &searched.corrected {
        output.note(&format!("Searched for: {corrected}"));
    }
    if searched.found.is_empty() && !output.json {
        let nothing = "No matching tools. List all tools: kitbag tools";
        output.note(searched.doubt.as_deref().unwrap_or(nothing));
        return Ok(());
    }
    if let Some(doubt) = &searched.doubt {
        output.note(doubt);
    }
    output.show(&searched.found, |found| match explain {
        true => format_explained(found),
        false => format_plain(found),
    })
}

async fn search_tools(
    gateway: &mut CommandGateway,
    query: String,
    options: Options,
    output: Output,
) -> anyhow::Result<SearchResult> {
    gateway.fetch_listings(None, output).await?;
    let shown = output.progress("Indexing tools");
    let request = SearchTools { query, options };
    let searched = gateway.ask_with_progress(request, |step| {
        let (done, total) = (step.progress, step.total.unwrap_or_default());
        shown.update(&format_progress(done as usize, total as usize));
    });
    searched.await
}

fn format_plain(found: &[FoundTool]) -> String {
    format_table(
        ["SCORE", "NAME", "DESCRIPTION"],
        found.iter().map(|it| {
            [
                format!("{:.2}", it.score),
                it.tool_name.clone(),
                describe_tool(it),
            ]
        }),
    )
}

/// Describes the tool, and lists its names on other servers that have the same tool.
fn describe_tool(found: &FoundTool) -> String {
    match found.also.as_slice() {
        [] => first_sentence(&found.description),
        also => format!(
            "{} (also: {})",
            first_sentence(&found.description),
            also.join(", ")
        ),
    }
}

fn format_explained(found: &[FoundTool]) -> String {
    let votes = found.iter().filter_map(format_votes);
    std::iter::once(format_scores(found))
        .chain(votes)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Formats the lessons for or against a tool in one line.
fn format_votes(found: &FoundTool) -> Option<String> {
    /// Further lessons repeat the first.
    const MOST: usize = 3;
    let lessons = found.neighbours.iter().take(MOST).map(|it| {
        let (id, signal, similarity) = (it.id, it.signal.as_str(), it.similarity);
        format!("lesson {id} ({signal}, {similarity:.2} alike)")
    });
    let lessons: Vec<String> = lessons.collect();
    (!lessons.is_empty()).then(|| format!("{}: {}", found.tool_name, lessons.join(", ")))
}

fn format_scores(found: &[FoundTool]) -> String {
    format_table(
        [
            "SCORE", "NAME", "KIND", "WORDS", "MEANING", "STEPS", "PRIORS", "LEARNED", "COSINE",
            "SUCCESS", "P95", "COST", "AS OF",
        ],
        found.iter().map(|it| {
            [
                format!("{:.2}", it.score),
                it.tool_name.clone(),
                it.kind.clone(),
                format!("{:+.2}", it.parts.lexical),
                format!("{:+.2}", it.parts.dense),
                format!("{:+.2}", it.parts.steps),
                format!("{:+.3}", it.parts.priors),
                format!("{:+.2}", it.parts.learned),
                it.cosine
                    .map_or_else(String::new, |cosine| format!("{cosine:.2}")),
                percent(it.priors.success_rate),
                milliseconds(it.priors.p95_latency_ms),
                usd(it.priors.estimated_cost_usd),
                as_of(&it.priors),
            ]
        }),
    )
}

/// Formats the date of the priors, if any.
fn as_of(priors: &FoundPriors) -> String {
    let is_known = priors.success_rate.is_some() || priors.p95_latency_ms.is_some();
    match is_known {
        true => minute(priors.last_updated_at),
        false => String::new(),
    }
}

pub(super) fn parse_write_class(text: &str) -> Result<WriteClass, String> {
    WriteClass::parse(text).ok_or_else(|| "expected read, write, destructive or unknown".to_owned())
}
