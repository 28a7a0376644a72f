//! Translates one server from the client's terms into Kitbag's.

use std::path::Path;

use url::Url;

use super::launch::{self, ReachKind};
use super::settings::ServerSettings;
use super::translator::TextTranslator;
use crate::config::{ClientLaunch, FileFault, FoundServer, ImportNote};
use crate::dialect::ClientDialect;
use crate::tree::Node;

/// Settings that mean nothing outside the client, and are dropped without a note.
const DROPPED: [&str; 8] = [
    "name",
    "description",
    "source",
    "display_name",
    "bundled",
    "alwaysLoad",
    "version",
    "gallery",
];

pub(super) fn read(
    name: &str,
    node: &Node,
    dialect: &ClientDialect<'_>,
) -> Result<FoundServer, FileFault> {
    let settings = ServerSettings::new(name, node)?;
    let mut translator = TextTranslator::new(dialect);
    let launch = match launch::reach_kind(name, &settings)? {
        ReachKind::Stdio => launch::stdio(&settings, &mut translator)?,
        ReachKind::Remote(transport) => {
            launch::remote(name, &settings, transport, &mut translator)?
        }
    };
    let disabled =
        settings.bool("disabled")? == Some(true) || settings.bool("enabled")? == Some(false);
    for dropped in DROPPED {
        settings.get(dropped);
    }
    let TextTranslator {
        needed, mut notes, ..
    } = translator;
    notes.extend(notes_about(&settings, dialect, !needed.is_empty()));
    Ok(FoundServer {
        name: name.to_owned(),
        launch,
        disabled,
        variables: needed,
        notes,
    })
}

fn notes_about(
    settings: &ServerSettings<'_>,
    dialect: &ClientDialect<'_>,
    needs_variables: bool,
) -> Vec<ImportNote> {
    let mut notes = Vec::new();
    if let Some(project) = dialect.project.filter(|_| dialect.folder_used.take()) {
        let folder = project.display().to_string();
        notes.push(ImportNote::FixedTo { folder });
    }
    let keys = settings.unread_keys();
    if !keys.is_empty() {
        notes.push(ImportNote::NotCarried { keys });
    }
    if dialect.is_literal() && needs_variables {
        notes.push(ImportNote::VariablesFilledIn);
    }
    notes
}

/// True if this is Kitbag itself, as written by `kitbag install` or by a user.
pub(super) fn is_kitbag(server: &FoundServer) -> bool {
    match &server.launch {
        ClientLaunch::Stdio { command, args, .. } => {
            let command = command.mask_secrets();
            let program = Path::new(&command).file_stem();
            program.is_some_and(|stem| stem == "kitbag")
                && args.iter().any(|word| word.mask_secrets() == "serve")
        }
        ClientLaunch::Http { url, .. } => server.name == "kitbag" && is_local(&url.mask_secrets()),
    }
}

fn is_local(url: &str) -> bool {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str);
    matches!(host, Some("127.0.0.1" | "localhost" | "[::1]"))
}
