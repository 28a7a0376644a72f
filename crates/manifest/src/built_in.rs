//! The tool files that come with the binary.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::catalog::ReadFile;
use crate::file::ToolFile;

/// Returns the files of `catalog/tools`, as they were when the binary was built.
pub(crate) fn files() -> Vec<ReadFile> {
    static FILES: LazyLock<Vec<ReadFile>> = LazyLock::new(|| TEXTS.iter().map(read).collect());
    FILES.clone()
}

fn read((name, text): &(&str, &str)) -> ReadFile {
    let path = Path::new("built-in").join(name);
    ToolFile::read(&path, text).map(Arc::new)
}

macro_rules! texts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../catalog/tools/", $name)))),*]
    };
}

const TEXTS: [(&str, &str); 21] = texts![
    "agent-state.toml",
    "ai-invoke.toml",
    "aws-bedrock-converse.toml",
    "aws-bedrock.toml",
    "aws-nova-canvas.toml",
    "aws-ses.toml",
    "aws-textract.toml",
    "batch.toml",
    "browser.toml",
    "call-api.toml",
    "claude.toml",
    "context-explain.toml",
    "context-query.toml",
    "discover.toml",
    "google-ads-mutate.toml",
    "google-ads.toml",
    "hubspot-crm.toml",
    "icp-scorer.toml",
    "llm-invoke.toml",
    "submit-feedback.toml",
    "web-fetch.toml",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_built_in_and_has_no_mistake() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog/tools");
        let entries = std::fs::read_dir(folder).unwrap();
        let there: BTreeSet<_> = entries.map(|it| it.unwrap().file_name()).collect();
        let known: BTreeSet<_> = TEXTS.iter().map(|(name, _)| (*name).into()).collect();
        assert_eq!(there, known);
        for file in files() {
            if let Err(mistakes) = file {
                let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
                panic!("{}", told.join("\n"));
            }
        }
    }
}
