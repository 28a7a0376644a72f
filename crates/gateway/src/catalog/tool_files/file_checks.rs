//! Runs the checks of `kitbag tools check` on tool files before they are offered.
//!
//! Checks that need the documentation pages or a search are skipped: whether a tool's pages exist,
//! and whether its intents find it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kitbag_config::CatalogSettings;
use kitbag_tool_files::{
    CatalogDirectories, CheckFinding, CheckId, CheckInput, Manifest, ToolCatalog, ToolFile,
    check_manifest, check_tool,
};

/// The files of all directories, with their mistakes.
#[derive(Default)]
pub(crate) struct CheckedFiles {
    files: Arc<ToolCatalog>,
    /// The manifests of the directories that have one.
    manifests: Vec<ManifestText>,
    /// The mistakes of each file by itself.
    file_findings: HashMap<PathBuf, (Arc<ToolFile>, Vec<CheckFinding>)>,
    /// The mistakes that the comparison with the manifests found.
    manifest_findings: Vec<CheckFinding>,
}

#[derive(PartialEq, Eq)]
struct ManifestText {
    directory: PathBuf,
    text: String,
}

/// Returns the mistakes for which a gateway omits tool files of this configuration.
pub fn find_tool_file_mistakes(settings: &CatalogSettings) -> Vec<CheckFinding> {
    let read = CatalogDirectories::read(settings.directories.clone());
    let checked = CheckedFiles::check(
        read.current(),
        &settings.directories,
        &CheckedFiles::default(),
    );
    let unreadable = read.current().problems().iter().map(CheckFinding::from);
    unreadable.chain(checked.findings().cloned()).collect()
}

/// True for a word that looks like a secret.
pub fn looks_secret(word: &str) -> bool {
    kitbag_clients::text_without_secrets(word) != word
}

impl CheckedFiles {
    /// Checks the files. Findings of an unchanged file are reused.
    pub(super) fn check(files: &Arc<ToolCatalog>, directories: &[PathBuf], before: &Self) -> Self {
        let own = files.tools().iter().filter(|file| !file.is_built_in());
        let of_files = own.map(|file| {
            let known = before.file_findings.get(&file.path);
            let known = known.filter(|(same, _)| Arc::ptr_eq(same, file));
            let found = known.map_or_else(|| check_file(file), |(_, found)| found.clone());
            (file.path.clone(), (file.clone(), found))
        });
        let manifests = read_manifests(directories);
        let of_manifests = manifests
            .iter()
            .flat_map(|manifest| manifest.compare_with_files(files));
        Self {
            file_findings: of_files.collect(),
            manifest_findings: of_manifests.collect(),
            files: files.clone(),
            manifests,
        }
    }

    /// True if no file and no manifest has changed.
    pub(super) fn is_current(&self, files: &Arc<ToolCatalog>, directories: &[PathBuf]) -> bool {
        Arc::ptr_eq(&self.files, files) && self.manifests == read_manifests(directories)
    }

    pub(super) fn files(&self) -> &Arc<ToolCatalog> {
        &self.files
    }

    pub(super) fn findings(&self) -> impl Iterator<Item = &CheckFinding> {
        let of_files = self.file_findings.values().flat_map(|(_, found)| found);
        of_files.chain(&self.manifest_findings)
    }

    /// True if a check has found a mistake in the file.
    pub(super) fn has_findings_for(&self, file: &ToolFile) -> bool {
        let own = self.file_findings.get(&file.path);
        own.is_some_and(|(_, found)| !found.is_empty())
            || self.manifest_findings.iter().any(|it| it.file == file.path)
    }
}

impl ManifestText {
    fn compare_with_files(&self, files: &ToolCatalog) -> Vec<CheckFinding> {
        let manifest = Manifest::read(&self.directory.join(Manifest::FILE), &self.text);
        let is_here = |path: &Path| path.starts_with(&self.directory);
        let tools: Vec<_> = files
            .tools()
            .iter()
            .filter(|it| is_here(&it.path))
            .cloned()
            .collect();
        let problems = files.problems().iter().filter(|it| is_here(&it.file));
        check_manifest(&manifest, &tools, &problems.cloned().collect::<Vec<_>>())
    }
}

fn read_manifests(directories: &[PathBuf]) -> Vec<ManifestText> {
    let read = directories.iter().filter_map(|directory| {
        let text = fs::read_to_string(directory.join(Manifest::FILE)).ok()?;
        let directory = directory.clone();
        Some(ManifestText { directory, text })
    });
    read.collect()
}

fn check_file(file: &ToolFile) -> Vec<CheckFinding> {
    let input = CheckInput {
        tools: &[],
        problems: &[],
        manifest: None,
        pages: None,
        dated: None,
        fits: &kitbag_schema::fits,
        schema_fault: &kitbag_schema::schema_fault,
        looks_secret: &looks_secret,
        names_secret: &kitbag_fetch::secrets::is_secret_name,
    };
    let mut found = check_tool(file, &input);
    found.retain(|finding| finding.check != CheckId::Intents);
    found
}
