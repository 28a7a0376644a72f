//! Checks the clients on this machine: which servers bypass Kitbag, and whether clients that use
//! Kitbag can start or reach it.

use std::env;
use std::net::ToSocketAddrs as _;
use std::path::Path;
use std::time::Duration;

use kitbag_clients::{Client, ClientConfig, ClientDirectories, ClientLaunch, Scope, find};
use kitbag_config::Config;
use kitbag_upstream::{ServerSpec, programs};
use tokio::net::TcpStream;
use url::Url;

use super::finding::{Area, Finding};
use crate::cli::Invocation;
use crate::cli::output::pluralize;
use crate::import::{client_directories, split_by_project};

const AREA: Area = Area::Clients;

pub(super) async fn check(config: Option<&Config>, invocation: &Invocation) -> Vec<Finding> {
    let Ok(directories) = client_directories(&invocation.source.environment) else {
        return Vec::new();
    };
    let (found, _) = split_by_project(find(&directories, None), &directories);
    let mut findings = Vec::new();
    for found in &found {
        findings.extend(report_problems(found));
        findings.extend(check_servers(found, &directories));
        findings.extend(check_entry(found).await);
    }
    findings.extend(
        Client::ALL
            .into_iter()
            .filter_map(|it| check_hook(it, &directories)),
    );
    if findings.is_empty() {
        findings.push(AREA.note("none", "no client on this machine has servers configured"));
    }
    let graphical = found.iter().find(|found| is_graphical(found));
    if let (Some(config), Some(found)) = (config, graphical) {
        let servers = config.servers.values();
        findings.extend(servers.filter_map(|spec| check_shell_path(spec, found.client)));
    }
    findings
}

/// True if this is a graphical client that starts Kitbag.
fn is_graphical(found: &ClientConfig) -> bool {
    found.client.is_desktop() && matches!(found.kitbag, Some(ClientLaunch::Stdio { .. }))
}

fn report_problems(found: &ClientConfig) -> impl Iterator<Item = Finding> {
    let wrong = found
        .problems
        .iter()
        .filter(|problem| !problem.is_harmless());
    wrong.map(|problem| {
        let advice = format!("fix {} by hand", found.path.display());
        AREA.warning(found.client.title(), problem.to_string())
            .with_advice(advice)
    })
}

/// Finds servers that the client connects to directly.
fn check_servers(found: &ClientConfig, directories: &ClientDirectories) -> Option<Finding> {
    let on = found.servers.iter().filter(|server| !server.disabled);
    let names: Vec<&str> = on.map(|server| server.name.as_str()).collect();
    let title = found.client.title();
    if names.is_empty() {
        let what = format!("uses Kitbag ({})", found.path.display());
        return found.kitbag.is_some().then(|| AREA.ok(title, what));
    }
    let (number, names) = (pluralize(names.len(), "server"), names.join(", "));
    let advice = move_advice(found, directories);
    Some(if found.kitbag.is_some() {
        AREA.warning(
            title,
            format!("uses Kitbag but bypasses it for {number}: {names}"),
        )
        .with_advice(advice)
    } else {
        AREA.note(title, format!("connects directly to {number}: {names}"))
            .with_advice(advice)
    })
}

fn check_hook(client: Client, directories: &ClientDirectories) -> Option<Finding> {
    let hook = client.prompt_hook().ok()?;
    let path = hook.path(directories);
    let what = format!("sends each prompt to the gateway ({})", path.display());
    hook.is_installed(directories)
        .then(|| AREA.ok(client.title(), what))
}

/// Checks that Kitbag can be started or reached as the client's file says.
async fn check_entry(found: &ClientConfig) -> Option<Finding> {
    let title = found.client.title();
    let again = format!("run `kitbag install --client {}`", found.client.name());
    match found.kitbag.as_ref()? {
        ClientLaunch::Stdio { command, .. } => check_command(found, &command.mask_secrets(), again),
        ClientLaunch::Http { url, .. } => {
            let url = url.mask_secrets();
            let what = format!("connects to {url}, where nothing is listening");
            (!is_listening(&url).await)
                .then(|| AREA.warning(title, what).with_advice("run `kitbag serve`"))
        }
    }
}

/// Checks that the client finds the program that it starts.
fn check_command(found: &ClientConfig, command: &str, again: String) -> Option<Finding> {
    let (title, path) = (found.client.title(), Path::new(command));
    if path.is_absolute() {
        let gone = !path.is_file();
        return gone.then(|| {
            AREA.problem(title, format!("starts {command}, which does not exist"))
                .with_advice(again)
        });
    }
    if programs::find_on_path(command).is_none() {
        let what = format!("starts `{command}`, which is not on the PATH");
        // A project file is shared, and other people have the program elsewhere.
        let advice = match found.project {
            Some(_) => link_advice(command),
            None => again,
        };
        return Some(AREA.problem(title, what).with_advice(advice));
    }
    let is_unreliable = found.project.is_none() && found.client.is_desktop();
    let what = format!(
        "starts `{command}` without its full path and may not find it when opened from the desktop"
    );
    is_unreliable.then(|| AREA.warning(title, what).with_advice(again))
}

fn link_advice(command: &str) -> String {
    let program = env::current_exe().unwrap_or_default();
    format!(
        "put it there, for example with `ln -s {} ~/.local/bin/{command}`",
        program.display()
    )
}

async fn is_listening(url: &str) -> bool {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let Some(address) = Url::parse(url).ok().and_then(|url| {
        let (host, port) = (url.host_str()?.to_owned(), url.port_or_known_default()?);
        (host.trim_matches(['[', ']']), port)
            .to_socket_addrs()
            .ok()?
            .next()
    }) else {
        return false;
    };
    matches!(
        tokio::time::timeout(TIMEOUT, TcpStream::connect(address)).await,
        Ok(Ok(_))
    )
}

/// Finds a program that is on the `PATH` only in a shell.
fn check_shell_path(spec: &ServerSpec, client: Client) -> Option<Finding> {
    let launch = spec.launch()?;
    let (name, command) = (&spec.name, launch.command.source());
    if command.contains(['/', '$']) || launch.sets_variable("PATH") {
        return None;
    }
    let path =
        programs::find_on_path(command).filter(|path| !programs::is_known_everywhere(path))?;
    let what = format!(
        "may not find `{command}` of server {name} when opened from the desktop: {} is only on a shell's PATH",
        path.display()
    );
    let folder = path.parent()?.display();
    let advice = if programs::uses_env_shebang(&path) {
        format!("write `env = {{ PATH = \"{folder}:${{PATH}}\" }}` in [servers.{name}]")
    } else {
        format!(
            "write `command = \"{}\"` in [servers.{name}]",
            path.display()
        )
    };
    Some(AREA.warning(client.title(), what).with_advice(advice))
}

/// Returns the advice for moving the servers behind Kitbag. A client may read several files, and we
/// edit only one of them.
fn move_advice(found: &ClientConfig, directories: &ClientDirectories) -> String {
    let is_project = found.project.is_some() && found.path.starts_with(&directories.cwd);
    let (scope, flag) = if is_project {
        (Scope::Project, " --project")
    } else {
        (Scope::User, "")
    };
    let edited = found
        .client
        .file_to_edit(directories, scope)
        .is_some_and(|spot| spot.path == found.path);
    if edited && is_project == found.project.is_some() {
        format!(
            "run `kitbag install --client {}{flag} --move-servers`",
            found.client.name()
        )
    } else {
        format!(
            "run `kitbag import`, then remove them from {} by hand",
            found.path.display()
        )
    }
}
