//! Finds the clients on this machine that go through Kitbag and those that go past it, and checks
//! if the former find it.

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
use crate::cli::output::count;
use crate::import::{of_this_project, places};

const AREA: Area = Area::Clients;

pub(super) async fn check(config: Option<&Config>, invocation: &Invocation) -> Vec<Finding> {
    let Ok(places) = places(&invocation.at.environment) else {
        return Vec::new();
    };
    let (found, _) = of_this_project(find(&places, None), &places);
    let mut findings = Vec::new();
    for found in &found {
        findings.extend(unreadable(found));
        findings.extend(passing(found, &places));
        findings.extend(door(found).await);
    }
    findings.extend(Client::ALL.into_iter().filter_map(|it| hooked(it, &places)));
    if findings.is_empty() {
        findings.push(AREA.note("none", "no client on this machine has servers written down"));
    }
    let launched = found.iter().find(|found| is_launched_from_a_window(found));
    if let (Some(config), Some(found)) = (config, launched) {
        let servers = config.servers.values();
        findings.extend(servers.filter_map(|spec| only_in_a_shell(spec, found.client)));
    }
    findings
}

/// True if a client that is opened from a window launches Kitbag.
fn is_launched_from_a_window(found: &ClientConfig) -> bool {
    found.client.has_windows() && matches!(found.kitbag, Some(ClientLaunch::Stdio { .. }))
}

fn unreadable(found: &ClientConfig) -> impl Iterator<Item = Finding> {
    let wrong = found
        .problems
        .iter()
        .filter(|problem| !problem.is_harmless());
    wrong.map(|problem| {
        let advice = format!("mend {} by hand", found.path.display());
        AREA.warning(found.client.title(), problem.to_string())
            .mend(advice)
    })
}

/// Servers that the client reaches by itself.
fn passing(found: &ClientConfig, places: &ClientDirectories) -> Option<Finding> {
    let on = found.servers.iter().filter(|server| !server.disabled);
    let names: Vec<&str> = on.map(|server| server.name.as_str()).collect();
    let title = found.client.title();
    if names.is_empty() {
        let through = format!("goes through Kitbag ({})", found.path.display());
        return found.kitbag.is_some().then(|| AREA.ok(title, through));
    }
    let (number, names) = (count(names.len(), "server"), names.join(", "));
    let advice = moving(found, places);
    Some(if found.kitbag.is_some() {
        AREA.warning(
            title,
            format!("has Kitbag, and goes past it to {number}: {names}"),
        )
        .mend(advice)
    } else {
        AREA.note(title, format!("goes past Kitbag to {number}: {names}"))
            .mend(advice)
    })
}

/// The client runs the hook for prompts.
fn hooked(client: Client, places: &ClientDirectories) -> Option<Finding> {
    let hook = client.prompt_hook().ok()?;
    let path = hook.path(places);
    let what = format!("hands each prompt to the gateway ({})", path.display());
    hook.is_in_place(places)
        .then(|| AREA.ok(client.title(), what))
}

/// Checks that the client reaches Kitbag in the way that its file says.
async fn door(found: &ClientConfig) -> Option<Finding> {
    let title = found.client.title();
    let again = format!("run `kitbag install --client {}`", found.client.name());
    match found.kitbag.as_ref()? {
        ClientLaunch::Stdio { command, .. } => launched(found, &command.masked(), again),
        ClientLaunch::Http { url, .. } => {
            let url = url.masked();
            let what = format!("connects to {url}, where no program answers");
            (!answers(&url).await).then(|| AREA.warning(title, what).mend("run `kitbag serve`"))
        }
    }
}

/// Checks that the client finds the program that it launches.
fn launched(found: &ClientConfig, command: &str, again: String) -> Option<Finding> {
    let (title, path) = (found.client.title(), Path::new(command));
    if path.is_absolute() {
        let gone = !path.is_file();
        return gone.then(|| {
            AREA.problem(title, format!("launches {command}, which is not there"))
                .mend(again)
        });
    }
    if programs::on_path(command).is_none() {
        let what = format!("launches `{command}`, which is not on the PATH");
        // A project's file is for others, too, who have the program elsewhere.
        let advice = match found.project {
            Some(_) => linking(command),
            None => again,
        };
        return Some(AREA.problem(title, what).mend(advice));
    }
    let thin = found.project.is_none() && found.client.has_windows();
    let what =
        format!("launches `{command}` without its full path, which it may not find from a window");
    thin.then(|| AREA.warning(title, what).mend(again))
}

fn linking(command: &str) -> String {
    let program = env::current_exe().unwrap_or_default();
    format!(
        "put it there, such as with `ln -s {} ~/.local/bin/{command}`",
        program.display()
    )
}

async fn answers(url: &str) -> bool {
    const PATIENCE: Duration = Duration::from_secs(1);
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
        tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await,
        Ok(Ok(_))
    )
}

/// Finds a program that is only found because a shell has set the `PATH`.
fn only_in_a_shell(spec: &ServerSpec, client: Client) -> Option<Finding> {
    let launch = spec.launch()?;
    let (name, command) = (&spec.name, launch.command.source());
    if command.contains(['/', '$']) || launch.sets_variable("PATH") {
        return None;
    }
    let path = programs::on_path(command).filter(|path| !programs::is_known_everywhere(path))?;
    let what = format!(
        "from a window it may not find `{command}` of the server {name}: only a shell's PATH has {}",
        path.display()
    );
    let folder = path.parent()?.display();
    let advice = if programs::looks_on_path(&path) {
        format!("write `env = {{ PATH = \"{folder}:${{PATH}}\" }}` in [servers.{name}]")
    } else {
        format!(
            "write `command = \"{}\"` in [servers.{name}]",
            path.display()
        )
    };
    Some(AREA.warning(client.title(), what).mend(advice))
}

/// Returns the advice for moving the servers behind Kitbag. A client may read several files, of
/// which we edit one.
fn moving(found: &ClientConfig, places: &ClientDirectories) -> String {
    let of_project = found.project.is_some() && found.path.starts_with(&places.cwd);
    let (scope, flag) = if of_project {
        (Scope::Project, " --project")
    } else {
        (Scope::User, "")
    };
    let edited = found
        .client
        .file_to_edit(places, scope)
        .is_some_and(|spot| spot.path == found.path);
    if edited && of_project == found.project.is_some() {
        format!(
            "run `kitbag install --client {}{flag} --move-servers`",
            found.client.name()
        )
    } else {
        format!(
            "run `kitbag import`, then take them out of {} by hand",
            found.path.display()
        )
    }
}
