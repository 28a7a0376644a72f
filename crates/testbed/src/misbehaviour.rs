//! Misbehaviour that starts before the first message.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Manner;
use crate::hostile;

pub(crate) async fn at_start(manners: &[Manner], data_dir: Option<&Path>) -> anyhow::Result<()> {
    if manners.contains(&Manner::CrashAtStart) {
        let _ = writeln!(
            std::io::stderr(),
            "Error: API_KEY environment variable is required"
        );
        std::process::exit(1);
    }
    if let Some(dir) = data_dir {
        std::fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    }
    if manners.contains(&Manner::IgnoreTerm) {
        ignore_signals()?;
    }
    if manners.contains(&Manner::Detach) {
        detach(data_dir.context("--manner detach needs --data-dir to leave the process id in")?)?;
    }
    if manners.contains(&Manner::DetachBare) {
        detach_bare(
            data_dir.context("--manner detach-bare needs --data-dir to leave the process id in")?,
        )?;
    }
    if manners.contains(&Manner::StderrFlood) {
        hostile::flood_stderr();
    }
    if manners.contains(&Manner::SlowStart) {
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    Ok(())
}

/// The lines of a chatty server, one of them JSON but none of them a message.
pub(crate) fn noise() -> &'static str {
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

/// A session of its own survives the killing of our process group.
fn detach(data_dir: &Path) -> anyhow::Result<()> {
    let child = Command::new("setsid")
        .args(["sleep", "600"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("starting setsid")?;
    // `setsid` forks only when it leads a process group; a fresh child does not, so this is the sleeper.
    std::fs::write(data_dir.join("detached.pid"), child.id().to_string())?;
    Ok(())
}

/// The shell ends at once, so that nothing leads from the process to us: no parent, no variable.
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
