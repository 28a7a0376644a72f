//! Runs the official conformance suite, which is a Node program.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use xtask::processes;
use xtask::repository::Repository;
use xtask::scene::Era;

use crate::results::{self, Scenario};

/// The two sides that the suite can test.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Server,
    Client,
}

/// Returns the scenarios that a revision requires of one side, in the suite's order.
pub(crate) fn list_required(
    repository: &Repository,
    side: Side,
    era: Era,
) -> anyhow::Result<Vec<String>> {
    let mut list = command(repository);
    list.args(["list", "--requirements", era.revision()]);
    let (status, printed) = processes::output(&mut list)?;
    if !status.success() {
        bail!(
            "`{}` ended with {status}:\n{printed}",
            processes::command_line(&list)
        );
    }
    let heading = match side {
        Side::Server => "Server scenarios",
        Side::Client => "Client scenarios",
    };
    let scenarios = section(&printed, heading);
    if scenarios.is_empty() {
        bail!("the suite lists no required scenario under `{heading}`:\n{printed}");
    }
    Ok(scenarios)
}

/// Runs every server scenario of a revision against `url`; the output is stored in `folder`.
pub(crate) fn test_server(
    repository: &Repository,
    era: Era,
    url: &str,
    folder: &Path,
) -> anyhow::Result<Vec<Scenario>> {
    let results = folder.join("results");
    let mut run = command(repository);
    run.args([
        "server",
        "--url",
        url,
        "--requirements",
        era.revision(),
        "--output-dir",
    ])
    .arg(&results);
    // The exit status only repeats the results, without naming the failed check.
    let (_, printed) = processes::output(&mut run)?;
    write_log(&folder.join("suite.log"), &printed)?;
    list_required(repository, Side::Server, era)?
        .into_iter()
        .map(|name| results::read(&results, &format!("server-{name}"), name))
        .collect()
}

/// Runs one client scenario; the suite starts `client` with the address of its server.
pub(crate) fn test_client(
    repository: &Repository,
    era: Era,
    client: &Path,
    name: &str,
    folder: &Path,
) -> anyhow::Result<Scenario> {
    let results = folder.join("results");
    let (place, program) = client
        .parent()
        .zip(client.file_name())
        .context("the built program has no folder")?;
    // The suite splits its command at every space, so it gets a name and not a path.
    let start = format!("./{}", program.to_string_lossy());
    let mut run = command(repository);
    run.current_dir(place)
        .args(["client", "--command", &start, "--scenario", name]);
    // Extensions and features removed by a later revision run only by force.
    run.args(["--force", "--spec-version", era.revision(), "--output-dir"])
        .arg(&results);
    let (status, printed) = processes::output(&mut run)?;
    write_log(
        &folder.join(format!("{}.log", name.replace('/', "-"))),
        &printed,
    )?;
    let mut scenario = results::read(&results, name, name.to_owned())?;
    // A client that crashes or hangs fails the scenario, even if every check has passed.
    if !status.success() && scenario.failures.is_empty() {
        scenario.fail(
            "client-exit",
            "the client exited with an error, too late, or with a warning",
        );
    }
    Ok(scenario)
}

fn command(repository: &Repository) -> Command {
    let mut node = Command::new(repository.node());
    node.arg(
        repository
            .tools()
            .join("node_modules/@modelcontextprotocol/conformance/dist/index.js"),
    );
    node.current_dir(repository.root());
    node
}

fn write_log(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Returns the `  - name` lines below a heading, up to the next blank line.
fn section(printed: &str, heading: &str) -> Vec<String> {
    printed
        .lines()
        .skip_while(|line| !line.starts_with(heading))
        .skip(1)
        .map_while(|line| line.trim_start().strip_prefix("- "))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let printed = "Server scenarios (x):\n  - ping\n  - tools-list\n\nClient scenarios (y):\n  - tools_call\n";
        assert_eq!(section(printed, "Server scenarios"), ["ping", "tools-list"]);
        assert_eq!(section(printed, "Client scenarios"), ["tools_call"]);
    }
}
