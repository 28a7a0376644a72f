//! Adds and removes servers in `kitbag.toml` without touching comments, order or the formatting of
//! anything else.

use std::io;
use std::path::{Path, PathBuf};

use kitbag_domain::ServerName;
use toml_edit::{
    Array, DocumentMut, InlineTable, Item, RawString, Table, TableLike, TomlError, value,
};

use super::edit_log::record_edit;
use super::error::ConfigError;
use super::load;

/// A server as described on the command line.
#[derive(Debug, Clone)]
pub struct NewServer {
    pub reach: Reach,
    pub enabled: bool,
}

#[derive(Debug, Clone)]
pub enum Reach {
    Launch {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<String>,
    },
    Remote {
        url: String,
        transport: Option<String>,
        headers: Vec<(String, String)>,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("the configuration is not TOML")]
    Syntax(#[from] TomlError),
    #[error("`servers` is not a table")]
    NotATable,
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Returns the text to edit, or an empty text if the file does not exist.
pub fn read_file(path: &Path) -> Result<String, ConfigError> {
    match load::read_config_file(path) {
        Err(ConfigError::Missing { .. }) => Ok(String::new()),
        other => other,
    }
}

pub fn write_file(path: &Path, text: &str) -> Result<(), EditError> {
    let before = read_file(path).unwrap_or_default();
    kitbag_clients::write(path, text).map_err(|source| EditError::Write {
        path: path.to_owned(),
        source,
    })?;
    record_edit(path, &before, text);
    Ok(())
}

/// Adds a server to the text. A server with the same name is replaced.
pub fn add_server(text: &str, name: &ServerName, server: &NewServer) -> Result<String, EditError> {
    let mut document: DocumentMut = text.parse()?;
    let servers = document
        .entry("servers")
        .or_insert_with(|| Item::Table(implicit_table()));
    let servers = servers.as_table_like_mut().ok_or(EditError::NotATable)?;
    insert_server(servers, name, server.to_table());
    Ok(document.to_string())
}

/// Sets one key of a section.
pub fn set_key(
    text: &str,
    section: &str,
    key: &str,
    to: impl Into<toml_edit::Value>,
) -> Result<String, EditError> {
    let mut document: DocumentMut = text.parse()?;
    let table = document
        .entry(section)
        .or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or(EditError::NotATable)?;
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(written) => replace_value(written, to),
        None => drop(table.insert(key, value(to))),
    }
    Ok(document.to_string())
}

/// Removes a server from the text. Returns `None` if it is not in the text.
pub fn remove_server(text: &str, name: &ServerName) -> Result<Option<String>, EditError> {
    let mut document: DocumentMut = text.parse()?;
    let servers = servers_table(&mut document)?;
    let Some(removed) = servers.and_then(|servers| servers.remove(name.as_str())) else {
        return Ok(None);
    };
    if let Item::Table(table) = &removed {
        keep_file_comment(&mut document, table);
    }
    Ok(Some(document.to_string()))
}

/// Enables or disables a server. Returns `None` if it is not in the text.
pub fn set_enabled(text: &str, name: &ServerName, on: bool) -> Result<Option<String>, EditError> {
    let mut document: DocumentMut = text.parse()?;
    let server = servers_table(&mut document)?.and_then(|servers| servers.get_mut(name.as_str()));
    let Some(table) = server.and_then(Item::as_table_like_mut) else {
        return Ok(None);
    };
    match (on, table.get_mut("enabled").and_then(Item::as_value_mut)) {
        // A server is enabled unless its table says otherwise.
        (true, _) => drop(table.remove("enabled")),
        (false, Some(written)) => replace_value(written, false),
        (false, None) => drop(table.insert("enabled", value(false))),
    }
    Ok(Some(document.to_string()))
}

/// Renames a server. Returns `None` if it is not in the text. The new name must be free.
pub fn rename_server(
    text: &str,
    old: &ServerName,
    new: &ServerName,
) -> Result<Option<String>, EditError> {
    let mut document: DocumentMut = text.parse()?;
    let Some(servers) = servers_table(&mut document)? else {
        return Ok(None);
    };
    // The table itself stores its position in the text, so it keeps that position.
    let Some(table) = servers.remove(old.as_str()) else {
        return Ok(None);
    };
    servers.insert(new.as_str(), table);
    Ok(Some(document.to_string()))
}

fn servers_table(document: &mut DocumentMut) -> Result<Option<&mut dyn TableLike>, EditError> {
    let Some(servers) = document.get_mut("servers") else {
        return Ok(None);
    };
    let servers = servers.as_table_like_mut().ok_or(EditError::NotATable)?;
    Ok(Some(servers))
}

/// The comment after the value stays.
fn replace_value(written: &mut toml_edit::Value, new: impl Into<toml_edit::Value>) {
    let decor = written.decor().clone();
    *written = new.into();
    *written.decor_mut() = decor;
}

impl NewServer {
    fn to_table(&self) -> Table {
        let mut table = Table::new();
        match &self.reach {
            Reach::Launch {
                command,
                args,
                env,
                cwd,
            } => {
                table.insert("command", value(command));
                if !args.is_empty() {
                    table.insert("args", value(Array::from_iter(args)));
                }
                insert_pairs(&mut table, "env", env);
                if let Some(cwd) = cwd {
                    table.insert("cwd", value(cwd));
                }
            }
            Reach::Remote {
                url,
                transport,
                headers,
            } => {
                table.insert("url", value(url));
                if let Some(transport) = transport {
                    table.insert("transport", value(transport));
                }
                insert_pairs(&mut table, "headers", headers);
            }
        }
        if !self.enabled {
            table.insert("enabled", value(false));
        }
        table
    }
}

fn insert_pairs(table: &mut Table, key: &str, pairs: &[(String, String)]) {
    if !pairs.is_empty() {
        let pairs = pairs
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        table.insert(key, value(InlineTable::from_iter(pairs)));
    }
}

fn insert_server(servers: &mut dyn TableLike, name: &ServerName, mut table: Table) {
    match servers.get_mut(name.as_str()) {
        // The new table takes the position of the old one and keeps the comment above it.
        Some(Item::Table(old)) => {
            *table.decor_mut() = old.decor().clone();
            table.set_position(old.position());
            *old = table;
        }
        Some(other) => *other = value(table.into_inline_table()),
        None => {
            servers.insert(name.as_str(), Item::Table(table));
        }
    }
}

fn implicit_table() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

/// The paragraph directly above a table belongs to that table and is removed with it. Text further
/// up, before an empty line, belongs to the file and moves to the next table or to the end.
fn keep_file_comment(document: &mut DocumentMut, removed: &Table) {
    let Some((kept, _)) = text_above(removed).rsplit_once("\n\n") else {
        return;
    };
    if kept.trim().is_empty() {
        return;
    }
    match next_table(document.as_table_mut(), removed.position()) {
        Some(next) => {
            let prefix = format!("{kept}\n{}", text_above(next));
            next.decor_mut().set_prefix(prefix);
        }
        None => {
            let below = document.trailing().as_str().unwrap_or_default();
            let trailing = format!("{kept}\n{below}");
            document.set_trailing(trailing);
        }
    }
}

fn text_above(table: &Table) -> &str {
    let prefix = table.decor().prefix().and_then(RawString::as_str);
    prefix.unwrap_or_default()
}

/// Returns the next table header in the text.
fn next_table(table: &mut Table, after: Option<isize>) -> Option<&mut Table> {
    let candidates = table.iter_mut().filter_map(|(_, item)| {
        let inner = item.as_table_mut()?;
        if !inner.is_implicit() && inner.position() > after {
            return Some(inner);
        }
        next_table(inner, after)
    });
    candidates.min_by_key(|candidate| candidate.position())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# Our servers.
# Ask before you add one.

# The history.
[servers.git]
command = "uvx" # with uv
args = ["mcp-server-git"]

[servers.git.env]
A = "1"

# The clock.
[servers.time]
command = 'time-mcp'

# Everyone may use these.
[policy]
deny_tools = ["*/delete_*"]
# The end.
"#;

    fn launch(command: &str) -> NewServer {
        let env = vec![("KEY".to_owned(), "${KEY}".to_owned())];
        let reach = Reach::Launch {
            command: command.to_owned(),
            args: vec!["-y".to_owned()],
            env,
            cwd: None,
        };
        NewServer {
            reach,
            enabled: true,
        }
    }

    fn with_server_added(text: &str, name: &str, server: &NewServer) -> String {
        add_server(text, &name.parse().unwrap(), server).unwrap()
    }

    fn with_server_removed(text: &str, name: &str) -> Option<String> {
        remove_server(text, &name.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_key_is_set_where_it_is_or_at_the_end() {
        let set = |text: &str| set_key(text, "secrets", "key", "env").unwrap();
        assert_eq!(set(""), "[secrets]\nkey = \"env\"\n");
        assert_eq!(
            set(TEXT),
            format!(
                "{}\n[secrets]\nkey = \"env\"\n# The end.\n",
                TEXT.replace("# The end.\n", "")
            )
        );
        assert_eq!(
            set("secrets.key = 'file' # ours\na.b = 1\n"),
            "secrets.key = \"env\" # ours\na.b = 1\n"
        );
    }

    #[test]
    fn a_new_server_leaves_everything_else_untouched() {
        let text = with_server_added(TEXT, "files", &launch("npx"));
        let table =
            "\n[servers.files]\ncommand = \"npx\"\nargs = [\"-y\"]\nenv = { KEY = \"${KEY}\" }\n";
        assert_eq!(text.replacen(table, "", 1), TEXT);
        assert!(text.contains(table), "{text}");
    }

    #[test]
    fn a_server_is_added_to_an_empty_file() {
        let reach = Reach::Remote {
            url: "http://h/mcp".into(),
            transport: Some("sse".into()),
            headers: vec![],
        };
        let text = with_server_added(
            "",
            "a",
            &NewServer {
                reach,
                enabled: false,
            },
        );
        assert_eq!(
            text,
            "[servers.a]\nurl = \"http://h/mcp\"\ntransport = \"sse\"\nenabled = false\n"
        );
    }

    #[test]
    fn a_replaced_server_keeps_its_position_and_the_comment_above_it() {
        let text = with_server_added(TEXT, "git", &launch("npx"));
        let head = "# Our servers.\n# Ask before you add one.\n\n# The history.\n[servers.git]\ncommand = \"npx\"\n";
        assert!(text.starts_with(head), "{text}");
        assert!(!text.contains("servers.git.env"), "{text}");
    }

    #[test]
    fn a_removed_server_loses_its_own_comment_and_leaves_the_others() {
        let text = with_server_removed(TEXT, "git").unwrap();
        assert!(
            text.starts_with(
                "# Our servers.\n# Ask before you add one.\n\n# The clock.\n[servers.time]"
            ),
            "{text}"
        );
        assert!(
            !text.contains("history") && text.ends_with("# The end.\n"),
            "{text}"
        );

        let text = with_server_removed(&with_server_removed(TEXT, "time").unwrap(), "git").unwrap();
        assert!(
            text.starts_with("# Our servers.\n# Ask before you add one.\n\n# Everyone may"),
            "{text}"
        );
        assert_eq!(with_server_removed(TEXT, "nobody"), None);
    }

    #[test]
    fn a_server_is_switched_off_and_on_again_and_nothing_else_changes() {
        let git = "git".parse().unwrap();
        let off = set_enabled(TEXT, &git, false).unwrap().unwrap();
        assert_eq!(
            off,
            TEXT.replace(
                "\"mcp-server-git\"]\n",
                "\"mcp-server-git\"]\nenabled = false\n"
            )
        );
        assert_eq!(
            set_enabled(&off, &git, false).unwrap().as_deref(),
            Some(off.as_str())
        );
        assert_eq!(
            set_enabled(&off, &git, true).unwrap().as_deref(),
            Some(TEXT)
        );
        assert_eq!(
            set_enabled(TEXT, &"none".parse().unwrap(), false).unwrap(),
            None
        );
        let inline = "servers = { git = { command = 'git' } }\n";
        let off = "servers = { git = { command = 'git' , enabled = false } }\n";
        assert_eq!(
            set_enabled(inline, &git, false).unwrap().as_deref(),
            Some(off)
        );
    }

    #[test]
    fn a_renamed_server_keeps_its_position_and_its_comment() {
        let renamed = rename_server(TEXT, &"git".parse().unwrap(), &"history".parse().unwrap());
        assert_eq!(
            renamed.unwrap().unwrap(),
            TEXT.replace("[servers.git", "[servers.history")
        );
    }

    #[test]
    fn inline_servers_stay_inline() {
        let text = with_server_added(
            "servers = { a = { command = 'x' } } # ours\n",
            "b",
            &launch("npx"),
        );
        assert!(
            text.starts_with("servers = { a = { command = 'x' } , b = { command = \"npx\""),
            "{text}"
        );
        assert!(
            text.ends_with("# ours\n") && with_server_removed(&text, "b").is_some(),
            "{text}"
        );
    }
}
