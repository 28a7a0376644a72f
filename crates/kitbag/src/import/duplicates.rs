//! Recognizes servers of clients that are configured already.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kitbag_clients::{ClientLaunch, FoundServer, HiddenText, SensitiveText};
use kitbag_config::Config;
use kitbag_domain::{Reach, ServerName, Template};
use kitbag_upstream::{ServerKind, ServerSpec};

use super::history::ImportHistory;

/// The servers that are configured before the import.
#[derive(Debug)]
pub(super) struct ConfiguredServers<'a> {
    pub(super) config: &'a Config,
    /// The configuration file.
    pub(super) path: &'a Path,
    /// The values of the stored secrets, by name.
    pub(super) secrets: &'a BTreeMap<String, String>,
    pub(super) history: &'a ImportHistory,
}

impl ConfiguredServers<'_> {
    /// Returns the names of servers and providers.
    pub(super) fn taken_names(&self) -> BTreeSet<ServerName> {
        let servers = self.specs().map(|spec| &spec.name);
        servers
            .chain(self.config.providers.keys())
            .cloned()
            .collect()
    }

    /// Returns the name of the configured server that is equivalent to this one.
    pub(super) fn find_duplicate(
        &self,
        wish: &ServerName,
        theirs: &FoundServer,
    ) -> Option<ServerName> {
        let mut specs = self.specs();
        let alike = specs.find(|spec| is_duplicate(spec, wish, theirs, self.secrets));
        alike
            .map(|spec| &spec.name)
            .or_else(|| self.find_imported(theirs))
            .cloned()
    }

    /// A server that was changed in the configuration since its import is still the same.
    fn find_imported(&self, theirs: &FoundServer) -> Option<&ServerName> {
        let name = self.history.find_imported(self.path, theirs)?;
        self.config.find_server(name).map(|_| name)
    }

    fn specs(&self) -> impl Iterator<Item = &ServerSpec> {
        let config = self.config;
        config.servers.values().chain(config.disabled.values())
    }
}

/// Everything except secrets must be equal. Different secrets mean different accounts, unless the
/// servers have the same name: then one of the secrets was changed later.
fn is_duplicate(
    ours: &ServerSpec,
    wish: &ServerName,
    theirs: &FoundServer,
    secrets: &BTreeMap<String, String>,
) -> bool {
    let same_name =
        ours.name.as_str() == wish.as_str() || ours.name.as_str().starts_with(&format!("{wish}-"));
    let Some(pairs) = pair_values(ours, theirs) else {
        return false;
    };
    pairs.iter().all(|(our, their)| {
        let blank = |text| replace_secrets(text, |_| Some(BLANK.to_owned()));
        replace_secrets(our, |name| secrets.get(name).cloned()) == reveal_typed(their)
            || (same_name && blank(our) == blank(&their.template(|_| BLANK.to_owned())))
    })
}

/// Pairs each configured value with the client's value at the same position; `None` if the two
/// servers have different shapes.
fn pair_values<'a>(
    ours: &ServerSpec,
    theirs: &'a FoundServer,
) -> Option<Vec<(String, &'a SensitiveText)>> {
    match (&ours.kind, &theirs.launch) {
        (
            ServerKind::External(Reach::Command(launch)),
            ClientLaunch::Stdio {
                command,
                args,
                env,
                cwd,
            },
        ) => {
            let folder = cwd.as_deref().map(Path::new);
            let folder = folder.filter(|path| path.is_absolute());
            if launch.args.len() != args.len()
                || (folder.is_some() && folder != launch.cwd.as_deref())
            {
                return None;
            }
            let mut pairs = vec![(launch.command.source().to_owned(), command)];
            let words = launch.args.iter().map(|word| word.source().to_owned());
            pairs.extend(words.zip(args));
            pairs.extend(pair_named_values(&launch.env, env, str::to_owned)?);
            Some(pairs)
        }
        (
            ServerKind::External(Reach::Remote(endpoint)),
            ClientLaunch::Http { url, headers, .. },
        ) => {
            let mut pairs = vec![(endpoint.url.source().to_owned(), url)];
            pairs.extend(pair_named_values(
                &endpoint.headers,
                headers,
                str::to_lowercase,
            )?);
            Some(pairs)
        }
        _ => None,
    }
}

fn pair_named_values<'a>(
    ours: &[(String, Template)],
    theirs: &'a [(String, SensitiveText)],
    name: fn(&str) -> String,
) -> Option<Vec<(String, &'a SensitiveText)>> {
    let ours: BTreeMap<_, _> = ours
        .iter()
        .map(|(key, value)| (name(key), value.source()))
        .collect();
    if ours.len() != theirs.len() {
        return None;
    }
    theirs
        .iter()
        .map(|(key, value)| Some(((*ours.get(&name(key))?).to_owned(), value)))
        .collect()
}

/// Returns the text with its typed secrets. A secret that is only named equals no configured one.
fn reveal_typed(value: &SensitiveText) -> String {
    let text = value.template(|hidden| match hidden {
        HiddenText::Typed(secret) => secret.to_owned(),
        HiddenText::Wanted(name) => format!("{BLANK}{name}"),
    });
    text.trim_end_matches('/').to_owned()
}

/// Replaces each `${secret:…}` that has a value, and removes trailing slashes, which servers ignore.
fn replace_secrets(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut new = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${secret:") {
        let Some((name, tail)) = after.split_once('}') else {
            break;
        };
        new.push_str(before);
        new.push_str(&value(name).unwrap_or_else(|| format!("${{secret:{name}}}")));
        rest = tail;
    }
    (new + rest).trim_end_matches('/').to_owned()
}

const BLANK: &str = "\u{0}";

#[cfg(test)]
mod tests {
    use kitbag_clients::{Client, ClientDirectories, ClientFile, OperatingSystem, Scope, read};

    use kitbag_config::{Environment, Overrides, parse};

    use super::*;

    #[track_caller]
    fn check(ours: &str, theirs: &str, expected: bool) {
        let environment = Environment {
            home: Some("/home/ann".into()),
            ..Environment::default()
        };
        let config = parse(ours, None, &Overrides::default(), &environment).unwrap();
        let directories = ClientDirectories::new(
            OperatingSystem::Linux,
            "/home/ann".into(),
            "/shop".into(),
            |_| None,
        );
        let spot = ClientFile {
            client: Client::ClaudeCode,
            path: "/home/ann/.claude.json".into(),
            scope: Scope::User,
        };
        let found = read(
            &spot,
            &format!("{{\"mcpServers\": {theirs}}}"),
            &directories,
        );
        let server = &found[0].servers[0];
        let secrets = BTreeMap::from([("a.T".to_owned(), "s3cret".to_owned())]);
        let ours = config.servers.values().next().unwrap();
        let wish = server.name.parse().unwrap();
        assert_eq!(
            is_duplicate(ours, &wish, server, &secrets),
            expected,
            "{theirs}"
        );
    }

    #[test]
    fn an_equivalent_server_is_a_duplicate() {
        let ours = "[servers.a]\ncommand = 'x'\nargs = ['-y', '${V}']\nenv = { TOKEN = '${secret:a.T}', U = 'u' }";
        let with = |name: &str, token: &str, arg: &str| {
            format!(
                r#"{{"{name}": {{"command": "x", "args": ["-y", "{arg}"], "env": {{"U": "u", "TOKEN": "{token}"}}}}}}"#
            )
        };
        check(ours, &with("a", "s3cret", "${V}"), true);
        check(ours, &with("other", "s3cret", "${V}"), true);
        check(ours, &with("a", "rotated", "${V}"), true);
        check(ours, &with("b", "another-account", "${V}"), false);
        check(ours, &with("a", "s3cret", "${W}"), false);
        check(
            ours,
            r#"{"a": {"command": "x", "args": ["-y", "${V}"]}}"#,
            false,
        );
        check(ours, r#"{"a": {"url": "https://a"}}"#, false);

        let ours =
            "[servers.a]\nurl = 'https://a.example'\nheaders = { Authorization = 'Bearer ${T}' }";
        let header = r#""headers": {"authorization": "Bearer ${T}"}"#;
        check(
            ours,
            &format!(r#"{{"z": {{"url": "https://a.example/", {header}}}}}"#),
            true,
        );
        check(
            ours,
            &format!(r#"{{"z": {{"url": "https://b.example/", {header}}}}}"#),
            false,
        );
    }
}
