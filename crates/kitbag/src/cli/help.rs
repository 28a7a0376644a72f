//! `kitbag --help` with grouped verbs, and new spellings of renamed verbs.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};

use super::Cli;

/// Verbs by group, in the order of the help. Verbs run by programs are in no group.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Get started",
        &[
            "demo",
            "serve",
            "servers",
            "import",
            "install",
            "uninstall",
            "search",
            "call",
            "doctor",
        ],
    ),
    (
        "Use",
        &["tools", "run", "prompts", "resources", "skills", "agents"],
    ),
    (
        "Configure",
        &["config", "secret", "key", "trust", "lock", "templates"],
    ),
    (
        "Operate",
        &[
            "service", "stats", "logs", "audit", "learned", "context", "feedback", "index", "store",
        ],
    ),
    ("Develop", &["eval", "completions"]),
];

/// Old and new spellings, kept for the release that renamed them.
const RENAMED: [(&str, &str); 6] = [
    ("describe", "kitbag tools show"),
    ("check", "kitbag tools check"),
    ("openapi", "kitbag tools import"),
    ("tokens", "kitbag stats tokens"),
    ("priors", "kitbag learned priors"),
    ("credentials", "kitbag secret"),
];

/// Returns the command with its verbs grouped in the help.
pub(super) fn grouped_command() -> Command {
    let mut command = Cli::command();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n{}\nGlobal options:\n{{options}}{{after-help}}",
        list_verbs(&command)
    );
    command = command.help_template(template);
    command
}

fn list_verbs(command: &Command) -> String {
    let mut text = String::new();
    for (heading, verbs) in GROUPS {
        text += &format!("\n{heading}:\n");
        for name in verbs {
            let verb = command.find_subcommand(name);
            let about = verb.and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text += &format!("  {name:<12} {about}\n");
        }
    }
    text
}

/// Returns the old and new spelling if the unknown verb was renamed.
pub(super) fn find_new_spelling(error: &clap::Error) -> Option<(&'static str, &'static str)> {
    let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(typed))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    else {
        return None;
    };
    RENAMED.into_iter().find(|(old, _)| old == typed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_visible_verb_is_in_one_group() {
        let command = Cli::command();
        let visible: BTreeSet<&str> = command
            .get_subcommands()
            .filter(|it| !it.is_hide_set())
            .map(Command::get_name)
            .collect();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, verbs)| *verbs)
            .copied()
            .collect();
        assert_eq!(visible.len(), grouped.len());
        assert_eq!(visible, grouped.into_iter().collect());
    }

    #[test]
    fn the_old_spelling_is_gone_and_the_new_one_exists() {
        let mut command = Cli::command();
        command.build();
        for (old, new) in RENAMED {
            assert!(command.find_subcommand(old).is_none(), "{old}");
            let path: Vec<&str> = new.split(' ').skip(1).collect();
            let found = path
                .iter()
                .try_fold(&command, |parent, name| parent.find_subcommand(name));
            assert!(found.is_some(), "{new}");
        }
    }
}
