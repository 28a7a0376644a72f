//! The way in which a client reaches Kitbag: the command line that it launches, or the address of a
//! gateway that runs.

use std::path::Path;

use anyhow::anyhow;
use kitbag_clients::{ClientFile, KitbagEntry, PromptHook, Scope};
use kitbag_config::Config;

use crate::cli::Invocation;
use crate::cli::failure::Advise as _;
use crate::cli::program::invoked_path;

/// Desktop programs are started with hardly a `PATH`, so a person's own file names the program in
/// full; a project's file goes to other people, who have the program elsewhere. The configuration
/// is named, so that it does not depend on the folder in which the client happens to launch Kitbag.
pub(super) fn launched(
    spot: &ClientFile,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<KitbagEntry> {
    let mut args = vec!["serve".to_owned(), "--stdio".to_owned()];
    if spot.scope == Scope::Project {
        return Ok(KitbagEntry::Stdio {
            command: "kitbag".to_owned(),
            args,
        });
    }
    args.extend(configuration(config, invocation)?);
    Ok(KitbagEntry::Stdio {
        command: text(&invoked_path()?),
        args,
    })
}

/// A hook, and the line that its client gives to a shell when a person submits a prompt.
pub(super) struct HookCommand {
    pub(super) hook: &'static PromptHook,
    pub(super) line: String,
}

pub(super) fn hook_command(
    hook: &'static PromptHook,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<HookCommand> {
    let mut words = vec![text(&invoked_path()?)];
    words.extend(["hook".to_owned(), hook.client.name().to_owned()]);
    words.extend(configuration(config, invocation)?);
    let words: Vec<_> = words.iter().map(|word| for_shell(word)).collect();
    let line = words.join(" ");
    Ok(HookCommand { hook, line })
}

/// The flags that lead to the configuration and the data that are meant now.
fn configuration(config: &Config, invocation: &Invocation) -> anyhow::Result<Vec<String>> {
    invocation.reject_store_override()?;
    let own = std::path::absolute(invocation.at.editable_file()?)?;
    let mut flags = vec!["--config".to_owned(), text(&own)];
    if invocation.at.overrides.data_dir.is_some() {
        let data_dir = std::path::absolute(&config.data_dir)?;
        flags.extend(["--data-dir".to_owned(), text(&data_dir)]);
    }
    Ok(flags)
}

pub(super) fn running(config: &Config) -> anyhow::Result<KitbagEntry> {
    if !config.serve.allows_keyless() {
        return Err(anyhow!(
            "connecting over HTTP needs a key, and a key does not belong into a readable file"
        ))
        .advise(|| "leave out --http, so that the client launches Kitbag by itself".to_owned());
    }
    Ok(KitbagEntry::Http {
        url: format!("http://{}/mcp", config.serve.bind),
        headers: Vec::new(),
    })
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The word as a shell reads it, in quotes unless it is plain.
fn for_shell(word: &str) -> String {
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
    fn a_shell_reads_one_word_whatever_is_in_it() {
        for (word, expected) in [
            ("/usr/bin/kitbag", "/usr/bin/kitbag"),
            ("/home/ann b/kitbag", "'/home/ann b/kitbag'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            ("", "''"),
        ] {
            assert_eq!(for_shell(word), expected);
        }
    }
}
