//! The templates built into the binary.

use crate::set::TemplateOrigin;
use crate::template::TemplateFile;

/// Returns the files of `crates/intents/templates`, as at build time.
pub fn files() -> Vec<TemplateFile> {
    let files = TEXTS.iter().map(|(name, text)| TemplateFile {
        path: format!("built-in/{name}").into(),
        text: (*text).to_owned(),
        origin: TemplateOrigin::BuiltIn,
    });
    files.collect()
}

macro_rules! texts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../templates/", $name)))),*]
    };
}

const TEXTS: [(&str, &str); 11] = texts![
    "analyse_trace.toml",
    "error_count.toml",
    "issue_details.toml",
    "list_errors.toml",
    "list_folder.toml",
    "recall.toml",
    "recent_commits.toml",
    "search_in_files.toml",
    "search_issues.toml",
    "time_in.toml",
    "uncommitted_changes.toml",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use serde_json::Map;

    use super::*;
    use crate::set::{TemplateMatch, TemplateSet};

    #[test]
    fn every_file_of_the_folder_is_built_in_and_shares_no_intent_with_another() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
        let entries = std::fs::read_dir(folder).unwrap();
        let there: BTreeSet<_> = entries.map(|it| it.unwrap().file_name()).collect();
        let known: BTreeSet<_> = TEXTS.iter().map(|(name, _)| (*name).into()).collect();
        assert_eq!(there, known);
        let (set, complaints) = TemplateSet::read(&files());
        assert_eq!(complaints, []);
        assert_eq!(set.entries().len(), TEXTS.len());
        for entry in set.entries() {
            assert!(entry.template.read_only(), "{}", entry.template.name());
            let file = format!("{}.toml", entry.template.name());
            assert!(TEXTS.iter().any(|(name, _)| *name == file), "{file}");
        }
    }

    #[test]
    fn natural_requests_find_them() {
        let (set, _) = TemplateSet::read(&files());
        for (words, expected) in [
            ("list errors", "list_errors"),
            ("Show me the latest errors in web-app", "list_errors"),
            ("get_error_count", "error_count"),
            ("search_issues", "search_issues needs query"),
            ("How many errors are there?", "error_count"),
            ("find errors for null pointer", "search_issues"),
            ("show error WEB-12", "issue_details"),
            ("analyze error 4711", "analyse_trace"),
            ("show the last 5 commits in /src/kitbag", "recent_commits"),
            ("recent commits", "recent_commits needs repository"),
            ("what changed in /src/kitbag?", "uncommitted_changes"),
            ("what do you know about the red planet", "recall"),
            ("What time is it in Europe/Berlin?", "time_in"),
            ("list the files in /etc", "list_folder"),
            ("grep TODO in /src", "search_in_files"),
            ("get error log", "nothing"),
            ("list errors by user", "nothing"),
            ("delete errors", "nothing"),
            ("read files in /etc", "nothing"),
        ] {
            let outcome = match set.find(words, &Map::new(), |_| true) {
                None => "nothing".to_owned(),
                Some(TemplateMatch::Ready { template, .. }) => template.name().to_string(),
                Some(TemplateMatch::Incomplete { template, missing }) => {
                    format!("{} needs {}", template.name(), missing[0].name)
                }
            };
            assert_eq!(outcome, expected, "{words}");
        }
    }
}
