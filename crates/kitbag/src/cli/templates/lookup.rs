//! All templates: built-in, from the operator's folder, and from the store.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use kitbag_config::Config;
use kitbag_domain::{Remedy as _, Tenant};
use kitbag_gateway::learning::learned_templates::{self, LearnedRow};
use kitbag_gateway::learning::template_folder::TemplateFolder;
use kitbag_intents::set::TemplateEntry;
use kitbag_intents::{IntentTemplate, TemplateComplaint, TemplateName, TemplateSet, built_in};
use kitbag_store::Store;

use super::NamedTemplate;
use crate::cli::failure::Advise as _;

pub(crate) struct KnownTemplates {
    folder: PathBuf,
    set: TemplateSet,
    pub(crate) learned: Vec<LearnedRow>,
    /// Problems with some of the templates.
    pub(crate) complaints: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum FoundTemplate<'a> {
    File {
        entry: &'a TemplateEntry,
        folder: &'a Path,
    },
    Learned(&'a LearnedRow),
}

impl KnownTemplates {
    pub(crate) async fn load(config: &Config, store: &Store) -> anyhow::Result<Self> {
        let folder = config.code.templates.clone();
        let TemplateFolder { files, unreadable } = TemplateFolder::read(&folder);
        let mut all = built_in::files();
        all.extend(files);
        let (set, complaints) = TemplateSet::read(&all);
        let (learned, broken) = learned_templates::read_all(store, None).await?;
        let unreadable = unreadable
            .iter()
            .map(|(path, error)| format!("cannot read {}: {error}", path.display()));
        let complaints = unreadable
            .chain(complaints.iter().map(format_complaint))
            .chain(broken.iter().map(ToString::to_string))
            .collect();
        Ok(Self {
            folder,
            set,
            learned,
            complaints,
        })
    }

    /// Returns templates from files, then learned ones.
    pub(crate) fn all(&self) -> impl Iterator<Item = FoundTemplate<'_>> {
        let files = self.set.entries().iter().map(|entry| FoundTemplate::File {
            entry,
            folder: &self.folder,
        });
        files.chain(self.learned.iter().map(FoundTemplate::Learned))
    }

    /// Finds a template by its name, or a learned one by its ID.
    pub(crate) fn find(&self, named: &NamedTemplate) -> anyhow::Result<FoundTemplate<'_>> {
        let fits: Vec<_> = self.all().filter(|found| found.matches(named)).collect();
        match fits.as_slice() {
            [only] => Ok(*only),
            [] => Err(anyhow!("no template `{}`", named.name))
                .advise(|| "list the templates with `kitbag templates list`".to_owned()),
            _ => Err(anyhow!("several tenants have a template `{}`", named.name))
                .advise(|| "select the tenant with --tenant".to_owned()),
        }
    }

    /// True if the name already refers to a template of this tenant.
    pub(crate) fn is_taken(&self, name: &TemplateName, tenant: &Tenant) -> bool {
        let mut all = self.all();
        all.any(|it| it.template().name() == name && it.tenant().is_none_or(|it| it == tenant))
    }
}

impl<'a> FoundTemplate<'a> {
    pub(crate) fn template(&self) -> &'a IntentTemplate {
        match self {
            Self::File { entry, .. } => &entry.template,
            Self::Learned(row) => row.learned.template(),
        }
    }

    /// Returns `None` for templates in files, which are for every tenant.
    pub(crate) fn tenant(&self) -> Option<&'a Tenant> {
        match self {
            Self::File { .. } => None,
            Self::Learned(row) => Some(&row.tenant),
        }
    }

    fn matches(&self, named: &NamedTemplate) -> bool {
        let named_so = self.template().name().as_str() == named.name || self.has_id(&named.name);
        named_so && (named.tenant.is_none() || named.tenant.as_ref() == self.tenant())
    }

    fn has_id(&self, id: &str) -> bool {
        matches!(self, Self::Learned(row) if row.learned.id() == id)
    }
}

fn format_complaint(complaint: &TemplateComplaint) -> String {
    match complaint.remedy() {
        Some(remedy) => format!("{complaint}\n  try: {remedy}"),
        None => complaint.to_string(),
    }
}
