//! The tools to check, with the manifest, pages and data to check them against.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use kitbag_config::Config;
use kitbag_tool_files::{
    CatalogDirectories, DatedData, Manifest, ToolCatalog, ToolFile, ToolFileError, ToolPage,
};

use crate::cli::failure::Advise as _;

/// Everything to check.
pub(in crate::cli::tools) struct CheckSources {
    pub(super) sources: Vec<CheckSource>,
    /// Other tools that searches may find.
    pub(super) others: Vec<Arc<ToolFile>>,
    /// True if Kitbag's own tools are checked too.
    pub(super) with_own_tools: bool,
}

/// One directory, some files, or the built-in catalog.
#[derive(Default)]
pub(super) struct CheckSource {
    /// The path as typed, or `built-in`.
    pub(super) name: String,
    pub(super) tools: Vec<Arc<ToolFile>>,
    pub(super) problems: Vec<ToolFileError>,
    pub(super) manifest: Option<Manifest>,
    /// Pages by tool ID.
    pub(super) pages: Option<BTreeMap<String, ToolPage>>,
    pub(super) dated: Option<DatedData>,
    /// Model providers; only their requests are checked.
    pub(super) providers: Vec<Arc<ToolFile>>,
}

/// Files given in addition to the tools.
#[derive(Debug, Default)]
pub(in crate::cli::tools) struct ExtraFiles {
    pub(in crate::cli::tools) manifest: Option<PathBuf>,
    pub(in crate::cli::tools) pages: Option<PathBuf>,
}

const BUILT_IN: &str = "built-in";
/// The folder of tool files in a whole catalog.
const TOOLS: &str = "tools";

impl CheckSources {
    /// Returns the built-in tools with the operator's data, and the tools of the configured directories.
    pub(in crate::cli::tools) fn from_config(
        config: &Config,
        extra: &ExtraFiles,
    ) -> anyhow::Result<Self> {
        let directories = &config.catalog.directories;
        let read = CatalogDirectories::read(directories.clone());
        let (dated, mistakes) = add_files(DatedData::built_in(), &config.catalog.data)?;
        let built_in = CheckSource {
            name: BUILT_IN.to_owned(),
            manifest: Some(Manifest::built_in()),
            dated: Some(dated),
            providers: kitbag_tool_files::model_providers().to_vec(),
            ..CheckSource::default()
        };
        let mut built_in = built_in
            .with_catalog(read.current(), Path::new(BUILT_IN))
            .with_extra_files(extra)?;
        built_in.problems.extend(mistakes);
        let there = directories.iter().filter(|it| it.exists());
        let own = there.map(|it| CheckSource::from_directory(it, read.current()));
        let own: Vec<CheckSource> = own.collect::<anyhow::Result<_>>()?;
        Ok(Self {
            sources: std::iter::once(built_in).chain(own).collect(),
            others: Vec::new(),
            with_own_tools: true,
        })
    }

    /// Returns the tools at the given paths.
    pub(in crate::cli::tools) fn from_paths(
        paths: &[PathBuf],
        extra: &ExtraFiles,
    ) -> anyhow::Result<Self> {
        if extra.manifest.is_some() && paths.len() > 1 {
            return Err(anyhow!("a manifest cannot apply to several sources"))
                .advise(|| "pass a single PATH with --manifest".to_owned());
        }
        let plain = paths.iter().filter(|it| find_catalog_root(it).is_none());
        let plain: Vec<PathBuf> = plain.cloned().collect();
        let catalog = match plain.is_empty() {
            true => ToolCatalog::default(),
            false => ToolCatalog::with_built_in(&plain),
        };
        let mut sources = Vec::new();
        for path in paths {
            let source = match find_catalog_root(path) {
                Some(root) => CheckSource::from_catalog(path, &root)?,
                None => CheckSource::from_directory(path, &catalog)?,
            };
            sources.push(source.with_extra_files(extra)?);
        }
        Ok(Self {
            sources,
            with_own_tools: paths
                .iter()
                .any(|it| it.is_dir() && find_catalog_root(it).is_some()),
            others: catalog.tools().to_vec(),
        })
    }
}

impl CheckSource {
    /// Reads a directory or file of the operator.
    fn from_directory(path: &Path, catalog: &ToolCatalog) -> anyhow::Result<Self> {
        if !path.exists() {
            return Err(anyhow!("{} does not exist", path.display()))
                .advise(|| "pass a tool file or a directory of tool files".to_owned());
        }
        let manifest = path.join(Manifest::FILE);
        let source = Self {
            name: path.display().to_string(),
            manifest: manifest
                .exists()
                .then(|| read_manifest(&manifest))
                .transpose()?,
            ..Self::default()
        };
        Ok(source.with_catalog(catalog, path))
    }

    /// Reads a whole catalog, or one file of it, which is not compared with the manifest.
    fn from_catalog(path: &Path, root: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        if path.is_file() {
            let source = Self {
                name,
                ..Self::default()
            };
            return Ok(source.with_catalog(&ToolCatalog::from_directory_only(path), path));
        }
        let tools = root.join(TOOLS);
        let providers = ToolCatalog::from_directory_only(&root.join("providers"));
        let (dated, mistakes) = read_data(&root.join("data"))?;
        let mut source = Self {
            name,
            manifest: Some(read_manifest(&root.join(Manifest::FILE))?),
            dated: Some(dated),
            ..Self::default()
        }
        .with_catalog(&ToolCatalog::from_directory_only(&tools), &tools);
        source.problems.extend(mistakes);
        if root.join("providers").is_dir() {
            source.problems.extend_from_slice(providers.problems());
            source.providers = providers.tools().to_vec();
        }
        let pages = root.join("../docs/tools");
        if pages.is_dir() {
            source.read_pages(&pages)?;
        }
        Ok(source)
    }

    /// Adds the tools and problems under a path.
    fn with_catalog(mut self, catalog: &ToolCatalog, path: &Path) -> Self {
        let tools = catalog.tools().iter();
        self.tools = tools
            .filter(|tool| tool.path.starts_with(path))
            .cloned()
            .collect();
        let problems = catalog.problems().iter();
        self.problems = problems
            .filter(|problem| problem.file.starts_with(path))
            .cloned()
            .collect();
        self
    }

    fn with_extra_files(mut self, extra: &ExtraFiles) -> anyhow::Result<Self> {
        if let Some(manifest) = &extra.manifest {
            self.manifest = Some(read_manifest(manifest)?);
        }
        if let Some(pages) = &extra.pages {
            self.read_pages(pages)?;
        }
        Ok(self)
    }

    fn read_pages(&mut self, folder: &Path) -> anyhow::Result<()> {
        if !folder.is_dir() {
            return Err(anyhow!("{} is not a folder", folder.display()))
                .advise(|| "pass the folder with a page for each tool".to_owned());
        }
        let pages = self.tools.iter().filter_map(|tool| {
            let path = folder.join(format!("{}.md", tool.id));
            let text = fs::read_to_string(&path).ok()?;
            Some((tool.id.to_string(), ToolPage { path, text }))
        });
        self.pages = Some(pages.collect());
        Ok(())
    }
}

/// Returns the root of the whole catalog that contains the path.
fn find_catalog_root(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    let above = absolute.ancestors().take(3);
    let mut roots = above
        .enumerate()
        .filter(|(_, root)| root.join(Manifest::FILE).is_file() && root.join(TOOLS).is_dir());
    let (steps, root) =
        roots.find(|(_, root)| absolute == **root || absolute.starts_with(root.join(TOOLS)))?;
    // Report the path as it was typed.
    let typed = path.ancestors().nth(steps).unwrap_or(root);
    Some(match typed.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => typed.to_owned(),
    })
}

fn read_manifest(path: &Path) -> anyhow::Result<Manifest> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read manifest {}", path.display()))?;
    Ok(Manifest::read(path, &text))
}

/// Reads the data files of a folder, if it exists.
fn read_data(folder: &Path) -> anyhow::Result<(DatedData, Vec<ToolFileError>)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(<_>::default());
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "toml"));
    files.sort();
    add_files(DatedData::default(), &files)
}

/// Adds the rows of the files to the data, and returns the mistakes in them.
fn add_files(
    mut data: DatedData,
    files: &[PathBuf],
) -> anyhow::Result<(DatedData, Vec<ToolFileError>)> {
    let mut mistakes = Vec::new();
    for path in files {
        let read = data.with_file_at(path);
        let (with_file, of_file) =
            read.with_context(|| format!("cannot read {}", path.display()))?;
        data = with_file;
        mistakes.extend(of_file);
    }
    Ok((data, mistakes))
}
