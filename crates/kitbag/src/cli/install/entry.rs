//! The entry for Kitbag in a client's file: a command line to launch, or the URL of a running
//! gateway.

use std::path::Path;

use anyhow::anyhow;
use kitbag_clients::{ClientFile, KitbagEntry, PromptHook, Scope};
use kitbag_config::Config;

use crate::cli::Invocation;
use crate::cli::failure::Advise as _;
use crate::cli::program::invoked_path;

/// Returns an entry that launches Kitbag. Desktop programs start with a minimal `PATH`, so the
/// user's own file has the full path; a project file is shared with people who have the program
/// elsewhere. The configuration path is explicit, since the client may launch Kitbag in any folder.
pub(super) fn launch_entry(
    client_file: &ClientFile,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<KitbagEntry> {
    let mut args = vec!["serve".to_owned(), "--stdio".to_owned()];
    if client_file.scope == Scope::Project {
        return Ok(KitbagEntry::Stdio {
            command: "kitbag".to_owned(),
            args,
        });
    }
    args.extend(config_flags(config, invocation)?);
    Ok(KitbagEntry::Stdio {
        command: path_text(&invoked_path()?),
        args,
    })
}

/// A hook and the shell command that its client runs for each submitted prompt.
pub(super) struct HookCommand {
    pub(super) hook: &'static PromptHook,
    pub(super) line: String,
}

pub(super) fn hook_command(
    hook: &'static PromptHook,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<HookCommand> {
    let mut words = vec![path_text(&invoked_path()?)];
    words.extend(["hook".to_owned(), hook.client.name().to_owned()]);
    words.extend(config_flags(config, invocation)?);
    let words: Vec<_> = words.iter().map(|word| quote_for_shell(word)).collect();
    let line = words.join(" ");
    Ok(HookCommand { hook, line })
}

/// Returns the flags that select the current configuration and data directory.
fn config_flags(config: &Config, invocation: &Invocation) -> anyhow::Result<Vec<String>> {
    invocation.reject_store_override()?;
    let own = std::path::absolute(invocation.source.editable_file()?)?;
    let mut flags = vec!["--config".to_owned(), path_text(&own)];
    if invocation.source.overrides.data_dir.is_some() {
        let data_dir = std::path::absolute(&config.data_dir)?;
        flags.extend(["--data-dir".to_owned(), path_text(&data_dir)]);
    }
    Ok(flags)
}

pub(super) fn http_entry(config: &Config) -> anyhow::Result<KitbagEntry> {
    if !config.serve.allows_keyless() {
        return Err(anyhow!(
            "connecting over HTTP needs a key, which does not belong in a readable file"
        ))
        .advise(|| "omit --http to let the client launch Kitbag".to_owned());
    }
    Ok(KitbagEntry::Http {
        url: format!("http://{}/mcp", config.serve.bind),
        headers: Vec::new(),
    })
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}

/// Quotes the word for a shell, unless it is plain.
pub(crate) fn quote_for_shell(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/._-+@:,=".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_quoted_text_as_one_word() {
        for (word, expected) in [
            ("/usr/bin/kitbag", "/usr/bin/kitbag"),
            ("/home/ann b/kitbag", "'/home/ann b/kitbag'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            ("", "''"),
        ] {
            assert_eq!(quote_for_shell(word), expected);
        }
    }
}
