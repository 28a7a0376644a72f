//! `kitbag servers logs`: what a server wrote to stderr.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use kitbag_domain::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::find;
use crate::cli::Invocation;
use crate::cli::output::{Output, printable};

/// Show what a server wrote to stderr.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kitbag servers logs time\n  kitbag servers logs time -n 20 -f")]
pub(super) struct Arguments {
    name: ServerName,
    /// How many lines, counted from the end.
    #[arg(long, short = 'n', default_value_t = 100)]
    lines: usize,
    /// Go on showing new lines until interrupted.
    #[arg(long, short)]
    follow: bool,
}

pub(super) async fn run(arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    let config = invocation.config()?;
    find(&config, &arguments.name)?;
    let path = config.server_log(&arguments.name);
    let current = read(&path)?;
    let earlier = read(&path.with_extension("log.1"))?;
    let lines = last_lines(&[earlier.as_deref(), current.as_deref()], arguments.lines);
    if invocation.output.json {
        return invocation.output.show(&lines, |_| String::new());
    }
    if !lines.is_empty() {
        invocation.output.print(&lines.join("\n"))?;
    } else if !arguments.follow {
        invocation.output.note(&format!("`{}` has written nothing so far.", arguments.name));
    }
    if arguments.follow {
        let seen = current.map_or(0, |text| text.len() as u64);
        tokio::select! {
            ended = follow(&path, seen, invocation.output) => ended?,
            interrupted = tokio::signal::ctrl_c() => interrupted?,
        }
    }
    Ok(())
}

/// Nothing when there is no such file yet.
fn read(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).with_context(|| format!("the log {} cannot be read", path.display())),
    }
}

fn last_lines(texts: &[Option<&[u8]>], number: usize) -> Vec<String> {
    let texts: Vec<_> = texts.iter().flatten().map(|text| String::from_utf8_lossy(text)).collect();
    let lines: Vec<_> = texts.iter().flat_map(|text| text.lines()).collect();
    lines[lines.len().saturating_sub(number)..].iter().map(|line| printable(line)).collect()
}

/// Looks again and again, since a file tells nobody that it has grown.
async fn follow(path: &Path, mut seen: u64, output: Output) -> anyhow::Result<()> {
    const EVERY: Duration = Duration::from_millis(200);
    loop {
        let length = fs::metadata(path).map_or(0, |file| file.len());
        if length < seen {
            // It was moved aside, and a new one begun.
            seen = 0;
        }
        if length > seen {
            let mut file = tokio::fs::File::open(path).await?;
            file.seek(io::SeekFrom::Start(seen)).await?;
            let mut new = Vec::new();
            file.read_to_end(&mut new).await?;
            // A line still being written is left for the next look.
            let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            if whole > 0 {
                output.print(&last_lines(&[Some(&new[..whole])], usize::MAX).join("\n"))?;
                seen += whole as u64;
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}
