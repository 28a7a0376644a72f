//! The sources whose tools are checked, with the manifest, the pages and the data that they are held against.

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

/// Everything that is checked at once.
pub(in crate::cli::tools) struct CheckSources {
    pub(super) sources: Vec<CheckSource>,
    /// The other tools that a search finds beside those of the sources.
    pub(super) others: Vec<Arc<ToolFile>>,
    /// True if the schemas of Kitbag's own tools are checked, too.
    pub(super) with_own_tools: bool,
}

/// One directory, or some files, or the catalog in the binary.
#[derive(Default)]
pub(super) struct CheckSource {
    /// The path that a person typed, or `built-in`.
    pub(super) name: String,
    pub(super) tools: Vec<Arc<ToolFile>>,
    pub(super) problems: Vec<ToolFileError>,
    pub(super) manifest: Option<Manifest>,
    /// The page of each tool, by its id.
    pub(super) pages: Option<BTreeMap<String, ToolPage>>,
    pub(super) dated: Option<DatedData>,
    /// The providers of models, of which only the requests are checked.
    pub(super) providers: Vec<Arc<ToolFile>>,
}

/// The files that a person names beside the tools.
#[derive(Debug, Default)]
pub(in crate::cli::tools) struct ExtraFiles {
    pub(in crate::cli::tools) manifest: Option<PathBuf>,
    pub(in crate::cli::tools) pages: Option<PathBuf>,
}

const BUILT_IN: &str = "built-in";
/// The folder of the tool files in a whole catalog.
const TOOLS: &str = "tools";

impl CheckSources {
    /// The tools in the binary with the operator's data over theirs, and those of the configured directories.
    pub(in crate::cli::tools) fn in_force(
        config: &Config,
        beside: &ExtraFiles,
    ) -> anyhow::Result<Self> {
        let directories = &config.catalog.directories;
        let read = CatalogDirectories::read(directories.clone());
        let (dated, mistakes) = with_files(DatedData::built_in(), &config.catalog.data)?;
        let built_in = CheckSource {
            name: BUILT_IN.to_owned(),
            manifest: Some(Manifest::built_in()),
            dated: Some(dated),
            providers: kitbag_tool_files::model_providers().to_vec(),
            ..CheckSource::default()
        };
        let mut built_in = built_in
            .taking(read.current(), Path::new(BUILT_IN))
            .beside(beside)?;
        built_in.problems.extend(mistakes);
        let there = directories.iter().filter(|it| it.exists());
        let own = there.map(|it| CheckSource::of_directory(it, read.current()));
        let own: Vec<CheckSource> = own.collect::<anyhow::Result<_>>()?;
        Ok(Self {
            sources: std::iter::once(built_in).chain(own).collect(),
            others: Vec::new(),
            with_own_tools: true,
        })
    }

    /// The paths that a person typed.
    pub(in crate::cli::tools) fn named(
        paths: &[PathBuf],
        beside: &ExtraFiles,
    ) -> anyhow::Result<Self> {
        if beside.manifest.is_some() && paths.len() > 1 {
            return Err(anyhow!("one manifest cannot be that of several sources"))
                .advise(|| "name one PATH with --manifest".to_owned());
        }
        let plain = paths.iter().filter(|it| in_whole(it).is_none());
        let plain: Vec<PathBuf> = plain.cloned().collect();
        let catalog = match plain.is_empty() {
            true => ToolCatalog::default(),
            false => ToolCatalog::beside_built_in(&plain),
        };
        let mut sources = Vec::new();
        for path in paths {
            let source = match in_whole(path) {
                Some(root) => CheckSource::of_whole(path, &root)?,
                None => CheckSource::of_directory(path, &catalog)?,
            };
            sources.push(source.beside(beside)?);
        }
        Ok(Self {
            sources,
            with_own_tools: paths.iter().any(|it| it.is_dir() && in_whole(it).is_some()),
            others: catalog.tools().to_vec(),
        })
    }
}

impl CheckSource {
    /// A directory or a file of the operator's own.
    fn of_directory(path: &Path, catalog: &ToolCatalog) -> anyhow::Result<Self> {
        if !path.exists() {
            return Err(anyhow!("there is nothing at {}", path.display()))
                .advise(|| "name a tool file or a directory of them".to_owned());
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
        Ok(source.taking(catalog, path))
    }

    /// A whole catalog, or one file of it, which is not held against the manifest of all.
    fn of_whole(path: &Path, root: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        if path.is_file() {
            let source = Self {
                name,
                ..Self::default()
            };
            return Ok(source.taking(&ToolCatalog::from_directory_only(path), path));
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
        .taking(&ToolCatalog::from_directory_only(&tools), &tools);
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

    /// Takes the tools and the problems that are at a path.
    fn taking(mut self, catalog: &ToolCatalog, path: &Path) -> Self {
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

    fn beside(mut self, beside: &ExtraFiles) -> anyhow::Result<Self> {
        if let Some(manifest) = &beside.manifest {
            self.manifest = Some(read_manifest(manifest)?);
        }
        if let Some(pages) = &beside.pages {
            self.read_pages(pages)?;
        }
        Ok(self)
    }

    fn read_pages(&mut self, folder: &Path) -> anyhow::Result<()> {
        if !folder.is_dir() {
            return Err(anyhow!("there is no folder {}", folder.display()))
                .advise(|| "name the folder that has a page for each tool".to_owned());
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

/// Returns the root of the whole catalog that a path is, or that its file or folder of tools is in.
fn in_whole(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    let above = absolute.ancestors().take(3);
    let mut roots = above
        .enumerate()
        .filter(|(_, root)| root.join(Manifest::FILE).is_file() && root.join(TOOLS).is_dir());
    let (steps, root) =
        roots.find(|(_, root)| absolute == **root || absolute.starts_with(root.join(TOOLS)))?;
    // The path is told as the person typed it.
    let typed = path.ancestors().nth(steps).unwrap_or(root);
    Some(match typed.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => typed.to_owned(),
    })
}

fn read_manifest(path: &Path) -> anyhow::Result<Manifest> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("the manifest {} cannot be read", path.display()))?;
    Ok(Manifest::read(path, &text))
}

/// Reads the rows of all files of a folder, which may be absent.
fn read_data(folder: &Path) -> anyhow::Result<(DatedData, Vec<ToolFileError>)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(<_>::default());
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "toml"));
    files.sort();
    with_files(DatedData::default(), &files)
}

/// Lays the rows of files over others, and returns the mistakes in the files.
fn with_files(
    mut data: DatedData,
    files: &[PathBuf],
) -> anyhow::Result<(DatedData, Vec<ToolFileError>)> {
    let mut mistakes = Vec::new();
    for path in files {
        let read = data.with_file_at(path);
        let (with_file, of_file) =
            read.with_context(|| format!("{} cannot be read", path.display()))?;
        data = with_file;
        mistakes.extend(of_file);
    }
    Ok((data, mistakes))
}
