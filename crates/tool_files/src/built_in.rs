//! The tool files built into the binary.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::catalog::ReadFile;
use crate::file::ToolFile;

/// Replaces the folder in the paths of these files.
pub(crate) const FOLDER: &str = "built-in";

/// Returns the files of `catalog/tools`, as at build time.
pub(crate) fn read_built_in_files() -> Vec<ReadFile> {
    static FILES: LazyLock<Vec<ReadFile>> = LazyLock::new(|| TEXTS.iter().map(read_file).collect());
    FILES.clone()
}

/// Returns the providers of language models, whose actions `llm_invoke` and `ai_invoke` call.
/// Clients do not see them.
pub fn model_providers() -> &'static [Arc<ToolFile>] {
    static FILES: LazyLock<Vec<Arc<ToolFile>>> = LazyLock::new(|| {
        PROVIDERS
            .iter()
            .filter_map(|file| read_file(file).ok())
            .collect()
    });
    &FILES
}

fn read_file((name, text): &(&str, &str)) -> ReadFile {
    let path = Path::new(FOLDER).join(name);
    ToolFile::read(&path, text).map(Arc::new)
}

macro_rules! texts {
    ($folder:literal, $($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../catalog/", $folder, "/", $name)))),*]
    };
}

const TEXTS: [(&str, &str); 26] = texts![
    "tools",
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
    "gamma.toml",
    "google-ads-mutate.toml",
    "google-ads.toml",
    "hubspot-crm.toml",
    "icp-scorer.toml",
    "linkedin-ads.toml",
    "llm-invoke.toml",
    "microsoft-ads-reports.toml",
    "microsoft-ads.toml",
    "microsoft-calendar.toml",
    "submit-feedback.toml",
    "web-fetch.toml",
];

const PROVIDERS: [(&str, &str); 7] = texts![
    "providers",
    "anthropic.toml",
    "cerebras.toml",
    "deepseek.toml",
    "gemini.toml",
    "groq.toml",
    "openrouter.toml",
    "workers-ai.toml",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[track_caller]
    fn check(folder: &str, texts: &[(&str, &str)]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../catalog")
            .join(folder);
        let entries = std::fs::read_dir(folder).unwrap();
        let there: BTreeSet<_> = entries.map(|it| it.unwrap().file_name()).collect();
        let known: BTreeSet<_> = texts.iter().map(|(name, _)| (*name).into()).collect();
        assert_eq!(there, known);
        let mistakes = texts
            .iter()
            .filter_map(|file| read_file(file).err())
            .flatten();
        let messages: Vec<String> = mistakes.map(|it| it.to_string()).collect();
        assert!(messages.is_empty(), "{}", messages.join("\n"));
    }

    #[test]
    fn every_file_of_the_catalog_is_built_in_and_has_no_mistake() {
        check("tools", &TEXTS);
        check("providers", &PROVIDERS);
    }
}
