//! `kitbag man`: manual pages, one per verb, generated from the help.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use serde_json::json;

use super::output::pluralize;
use super::{Cli, Invocation};

/// Generate the manual pages.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Output folder; without it, prints the page of kitbag itself.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag man --dir ~/.local/share/man/man1
  kitbag man | man -l -";

pub(super) fn run(arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let pages = render_pages()?;
    let Some(dir) = &arguments.dir else {
        let main = pages
            .iter()
            .find(|page| page.name == "kitbag.1")
            .context("there is no main page")?;
        invocation.output.print(&main.text)?;
        return Ok(ExitCode::SUCCESS);
    };
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    for page in &pages {
        let path = dir.join(&page.name);
        fs::write(&path, &page.text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    invocation.show(&json!({ "dir": dir, "pages": names }), |_| {
        format!("{} in {}", pluralize(pages.len(), "page"), dir.display())
    })?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug)]
struct Page {
    name: String,
    text: String,
}

/// Renders the pages of every verb and its subcommands.
fn render_pages() -> io::Result<Vec<Page>> {
    fn collect(command: &Command, pages: &mut Vec<Page>) -> io::Result<()> {
        pages.push(render_page(command)?);
        command
            .get_subcommands()
            .filter(|it| !it.is_hide_set())
            .try_for_each(|it| collect(it, pages))
    }
    let mut whole = Cli::command().disable_help_subcommand(true);
    whole.build();
    let mut pages = Vec::new();
    collect(&whole, &mut pages)?;
    Ok(pages)
}

fn render_page(command: &Command) -> io::Result<Page> {
    let version = env!("CARGO_PKG_VERSION");
    let man = Man::new(command.clone())
        .source(format!("Kitbag {version}"))
        .manual("Kitbag");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    if let Some(after) = command.get_after_help() {
        render_examples(&after.to_string()).to_writer(&mut text)?;
    }
    Ok(Page {
        name: man.get_filename(),
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}

/// Renders examples without rewrapping, which would change the commands.
fn render_examples(after: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]);
    roff.control("nf", []);
    for line in after.lines().filter(|line| *line != "Examples:") {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}
