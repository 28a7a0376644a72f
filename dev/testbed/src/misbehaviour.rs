//! Misbehaviour before the first message.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Misbehaviour;
use crate::{hostile, markup};

pub(crate) async fn at_start(
    misbehaviours: &[Misbehaviour],
    data_dir: Option<&Path>,
) -> anyhow::Result<()> {
    if misbehaviours.contains(&Misbehaviour::CrashAtStart) {
        crash();
    }
    if let Some(dir) = data_dir {
        std::fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    }
    if misbehaviours.contains(&Misbehaviour::IgnoreTerm) {
        ignore_signals()?;
    }
    if misbehaviours.contains(&Misbehaviour::Detach) {
        detach(for_process_id(data_dir)?)?;
    }
    if misbehaviours.contains(&Misbehaviour::DetachBare) {
        detach_bare(for_process_id(data_dir)?)?;
    }
    if misbehaviours.contains(&Misbehaviour::Markup) {
        markup::write_to_stderr();
    }
    if misbehaviours.contains(&Misbehaviour::StderrFlood) {
        hostile::flood_stderr();
    }
    if misbehaviours.contains(&Misbehaviour::SlowStart) {
        match data_dir {
            None => tokio::time::sleep(SLOW_START).await,
            Some(dir) => {
                while !dir.join("start").exists() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
    }
    Ok(())
}

/// Longer than a healthy server takes, and shorter than the gateway waits.
const SLOW_START: Duration = Duration::from_secs(3);

fn crash() -> ! {
    let _ = writeln!(
        std::io::stderr(),
        "Error: API_KEY environment variable is required"
    );
    std::process::exit(1);
}

fn for_process_id(data_dir: Option<&Path>) -> anyhow::Result<&Path> {
    data_dir.context("a process that is left behind needs --data-dir to leave its id in")
}

/// Returns the lines of a chatty server: one is JSON, and none is a message.
pub(crate) fn noise_lines() -> &'static str {
    concat!(
        "Server listening, have a nice day\n",
        r#"{"level":"info","msg":"connected to backend","took":0.25}"#,
        "\n\u{1b}[33m[warn]\u{1b}[0m no display available\n",
    )
}

fn ignore_signals() -> anyhow::Result<()> {
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ] {
        let mut signals = signal(kind)?;
        tokio::spawn(async move { while signals.recv().await.is_some() {} });
    }
    Ok(())
}

/// Leaves a process behind. In its own session it survives a signal to this process group.
fn detach(data_dir: &Path) -> anyhow::Result<()> {
    let child = Command::new("setsid")
        .args(["sleep", "600"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("starting setsid")?;
    // `setsid` forks only when it leads a process group; a fresh child does not, so this is the
    // sleeper.
    std::fs::write(data_dir.join("detached.pid"), child.id().to_string())?;
    Ok(())
}

/// Leaves a process behind that has neither this process as its parent nor its variables: the shell
/// in between ends at once.
fn detach_bare(data_dir: &Path) -> anyhow::Result<()> {
    let script = "setsid env -i sleep 600 </dev/null >/dev/null 2>&1 & echo $! >detached.pid";
    let status = Command::new("sh")
        .args(["-c", script])
        .current_dir(data_dir)
        .status();
    anyhow::ensure!(
        status.context("starting sh")?.success(),
        "the shell could not start a process"
    );
    Ok(())
}
