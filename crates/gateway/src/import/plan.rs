//! Which servers to add, under which names, and the adding: secrets first, then the configuration.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kitbag_desk::{
    Client, Found, FoundServer, Launch, Merged, Note, Origin, Problem, Transport, Value, Variable, merge,
};
use kitbag_domain::ServerName;
use serde::Serialize;
use toml_edit::Array;

use super::keeping::Keeping;
use super::same::same;
use crate::config::edit::{self, EditError, NewServer, Reach};
use crate::config::{ConfigError, KeyPlace, Whereabouts};

#[derive(Debug)]
pub(crate) struct Plan {
    /// The file that gets the servers.
    pub(crate) config: PathBuf,
    pub(crate) rows: Vec<Row>,
    pub(crate) problems: Vec<Problem>,
    /// What the file will hold.
    text: String,
    /// The clients that are followed.
    pub(crate) follow: Vec<Client>,
    /// Whether there is something to write.
    pub(crate) edits: bool,
    keeping: Keeping,
    store_path: PathBuf,
    secret_key: KeyPlace,
}

#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: ServerName,
    pub(crate) action: Action,
    pub(crate) target: String,
    pub(crate) disabled: bool,
    pub(crate) from: Vec<Origin>,
    /// The names of what goes into the store.
    pub(crate) secrets: Vec<String>,
    /// Variables that have no value yet.
    pub(crate) missing: Vec<Variable>,
    pub(crate) notes: Vec<Note>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Add,
    /// One of ours does the same.
    Known,
    /// Our configuration would not take it.
    Refused,
}

impl Plan {
    /// Reads, and writes nothing.
    pub(crate) async fn make(mut found: Vec<Found>, at: &Whereabouts) -> anyhow::Result<Self> {
        let path = at.editable()?;
        let text = edit::read(&path)?;
        let config = at.parse(&text, &path).context("the configuration cannot be used")?;
        let keeping = Keeping::of(&config).await?;
        let problems = found.iter_mut().flat_map(|it| it.problems.drain(..)).collect();
        let ours = || config.servers.values().chain(config.disabled.values());
        let taken: BTreeSet<_> =
            ours().map(|spec| spec.name.clone()).chain(config.providers.keys().cloned()).collect();
        let known = |wish: &ServerName, server: &FoundServer| {
            let mut ours = ours();
            ours.find(|spec| same(spec, wish, server, keeping.known())).map(|spec| spec.name.clone())
        };
        let merged = merge(found, taken, known);
        let store_path = config.store_path.clone();
        let secret_key = config.secret_key;
        let mut plan = Self {
            config: path,
            rows: Vec::new(),
            problems,
            text,
            follow: config.follow.clone(),
            edits: false,
            keeping,
            store_path,
            secret_key,
        };
        for server in merged {
            plan.decide(server, at);
        }
        Ok(plan)
    }

    /// These clients are followed from then on, with those that are already.
    pub(crate) fn follow(&mut self, clients: impl IntoIterator<Item = Client>) -> Result<(), EditError> {
        let before = self.follow.len();
        for client in clients {
            if !self.follow.contains(&client) {
                self.follow.push(client);
            }
        }
        if self.follow.len() > before {
            let names: Array = self.follow.iter().map(|client| client.name()).collect();
            self.text = edit::set_key(&self.text, "import", "follow", names)?;
            self.edits = true;
        }
        Ok(())
    }

    /// A secret must be in the store before anything refers to it.
    pub(crate) async fn carry_out(&mut self, at: &Whereabouts) -> anyhow::Result<()> {
        self.keeping.put_down(&self.store_path, self.secret_key).await?;
        at.parse(&self.text, &self.config).context("the servers were not added")?;
        Ok(edit::write(&self.config, &self.text)?)
    }

    fn decide(&mut self, merged: Merged, at: &Whereabouts) {
        let Merged { name, server, from, known } = merged;
        let mut row = Row {
            target: target(&server.launch),
            action: Action::Known,
            disabled: server.disabled,
            from,
            secrets: Vec::new(),
            missing: self.missing(&server.variables),
            notes: server.notes.clone(),
            reason: None,
            name,
        };
        if !known {
            let kept = self.keeping.mark();
            match self.add(&row.name, &server, at) {
                Ok(text) => {
                    self.text = text;
                    self.edits = true;
                    row.action = Action::Add;
                    row.secrets = self.keeping.since(kept);
                }
                Err(error) => {
                    self.keeping.back_to(kept);
                    row.action = Action::Refused;
                    row.reason = Some(reason(&error));
                }
            }
        }
        self.rows.push(row);
    }

    /// The text with one server more, if the configuration takes it.
    fn add(&mut self, name: &ServerName, server: &FoundServer, at: &Whereabouts) -> anyhow::Result<String> {
        let new = describe(name, server, &mut self.keeping);
        let text = edit::add_server(&self.text, name, &new)?;
        at.parse(&text, &self.config)?;
        Ok(text)
    }

    fn missing(&self, variables: &[Variable]) -> Vec<Variable> {
        let is_set = |variable: &&Variable| match variable.name.strip_prefix("secret:") {
            Some(secret) => self.keeping.has(secret),
            None => env::var_os(&variable.name).is_some(),
        };
        variables.iter().filter(|variable| !is_set(variable)).cloned().collect()
    }
}

fn describe(name: &ServerName, server: &FoundServer, keeping: &mut Keeping) -> NewServer {
    let mut text = |value: &Value, what: &str| value.template(|secret| keeping.keep(name, what, secret));
    let reach = match &server.launch {
        Launch::Stdio { command, args, env, cwd } => Reach::Launch {
            command: text(command, "command"),
            args: args.iter().map(|word| text(word, "argument")).collect(),
            env: env.iter().map(|(key, value)| (key.clone(), text(value, key))).collect(),
            cwd: cwd.clone(),
        },
        Launch::Http { url, transport, headers } => Reach::Remote {
            url: text(url, "url"),
            transport: (*transport == Transport::Sse).then(|| "sse".to_owned()),
            headers: headers.iter().map(|(key, value)| (key.clone(), text(value, key))).collect(),
        },
    };
    NewServer { reach, enabled: !server.disabled }
}

/// Without a place in the file, which does not have it.
fn reason(error: &anyhow::Error) -> String {
    match error.downcast_ref() {
        Some(ConfigError::Invalid { problem, .. }) => problem.to_string(),
        _ => error.root_cause().to_string(),
    }
}

/// Short, and without what might be a secret.
fn target(launch: &Launch) -> String {
    match launch {
        Launch::Stdio { command, args, .. } => {
            let mut words = args.iter().map(Value::masked).filter(|word| !word.starts_with('-'));
            let command = command.masked();
            let program =
                Path::new(&command).file_name().map_or(command.clone(), |it| it.to_string_lossy().into());
            words.next().map_or(program.clone(), |word| format!("{program} {word}"))
        }
        Launch::Http { url, .. } => {
            let url = url.masked();
            url.split(['?', '#']).next().unwrap_or_default().to_owned()
        }
    }
}
