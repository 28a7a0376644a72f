//! Facts that change without a release: models, prices, routes, profiles. Each is a row with a
//! first day and, if known, a last one, so every lookup is for a certain day.
//!
//! - `rows`: the kinds of rows; [`icp`]: profiles of ideal customers
//! - `files`: the operator's own rows
//! - `read`: rows in TOML; `check`: rows that contradict each other or have ended

mod check;
mod files;
pub mod icp;
mod read;
mod rows;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use jiff::civil::Date;

pub use files::DataFileError;
pub use icp::{IcpProfile, IcpScore};
pub use rows::{ModelAlias, ModelRow, ProviderRow, RouteRequest, RouteRow, TierRow};

pub(crate) use check::check;

use crate::file::mistake::ToolFileError;
use rows::DatedEntry;

/// All known rows, of any day.
#[derive(Debug, Clone, Default)]
pub struct DatedData {
    models: DatedRows<ModelRow>,
    aliases: DatedRows<ModelAlias>,
    tiers: DatedRows<TierRow>,
    routes: DatedRows<RouteRow>,
    providers: DatedRows<ProviderRow>,
    profiles: DatedRows<IcpProfile>,
}

/// The rows that are valid on one day.
#[derive(Debug, Clone, Copy)]
pub struct DataOfDay<'a> {
    data: &'a DatedData,
    day: Date,
}

#[derive(Debug, Clone)]
pub(crate) struct DatedRows<T> {
    rows: Vec<DatedRow<T>>,
}

/// A fact, and the days on which it is valid.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DatedRow<T> {
    pub(crate) value: T,
    pub(crate) from: Date,
    /// The first day on which it is no longer valid.
    pub(crate) until: Option<Date>,
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
}

impl DatedData {
    /// Returns the built-in rows.
    pub fn built_in() -> Self {
        let mut data = Self::default();
        for (name, text) in BUILT_IN {
            data.add(&Path::new("built-in").join(name), text);
        }
        data
    }

    /// Adds the rows of an operator's file. They replace all built-in rows about the same subjects.
    pub fn with_file(&self, path: &Path, text: &str) -> (Self, Vec<ToolFileError>) {
        let mut own = Self::default();
        let mistakes = own.add(path, text);
        let mut data = self.clone();
        data.models.replace_by(own.models);
        data.aliases.replace_by(own.aliases);
        data.tiers.replace_by(own.tiers);
        data.routes.replace_by(own.routes);
        data.providers.replace_by(own.providers);
        data.profiles.replace_by(own.profiles);
        (data, mistakes)
    }

    pub fn at(&self, day: Date) -> DataOfDay<'_> {
        DataOfDay { data: self, day }
    }

    /// Reads the rows of a file, and returns its mistakes.
    fn add(&mut self, path: &Path, text: &str) -> Vec<ToolFileError> {
        read::read(self, path, text)
    }
}

macro_rules! texts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../catalog/data/", $name)))),*]
    };
}

const BUILT_IN: [(&str, &str); 5] = texts![
    "aliases.toml",
    "models.toml",
    "providers.toml",
    "routes.toml",
    "tiers.toml",
];

impl<'a> DataOfDay<'a> {
    /// Returns a model by its name, or by an alias.
    pub fn model(&self, provider: &str, name: &str) -> Option<&'a ModelRow> {
        let alias = self.alias(provider, name);
        let id = alias.map_or(name, |alias| alias.model.as_str());
        let mut models = self.models_of(provider).into_iter();
        models.find(|it| it.id == id)
    }

    /// Returns the model that an alias leads to.
    pub fn alias(&self, provider: &str, name: &str) -> Option<&'a ModelAlias> {
        let mut aliases = self.valid_rows(&self.data.aliases).into_iter();
        aliases.find(|it| it.provider == provider && it.alias == name)
    }

    pub fn models_of(&self, provider: &str) -> Vec<&'a ModelRow> {
        let mut models = self.valid_rows(&self.data.models);
        models.retain(|it| it.provider == provider);
        models
    }

    /// Returns every provider that has a model with this name or alias.
    pub fn providers_of(&self, model: &str) -> Vec<&'a str> {
        let mut providers: Vec<&str> = self.models().map(|it| it.provider.as_str()).collect();
        providers.sort_unstable();
        providers.dedup();
        providers.retain(|provider| self.model(provider, model).is_some());
        providers
    }

    pub fn models(&self) -> impl Iterator<Item = &'a ModelRow> {
        self.valid_rows(&self.data.models).into_iter()
    }

    /// Returns the day on which a known model ended.
    pub fn model_ended(&self, provider: &str, id: &str) -> Option<Date> {
        if self.model(provider, id).is_some() {
            return None;
        }
        let rows = self.data.models.rows.iter();
        let rows = rows.filter(|row| row.value.provider == provider && row.value.id == id);
        let ends = rows.filter_map(|row| row.until);
        ends.filter(|until| *until <= self.day).max()
    }

    pub fn tier(&self, name: &str) -> Option<&'a TierRow> {
        let tiers = self.valid_rows(&self.data.tiers);
        tiers.into_iter().find(|tier| tier.tier == name)
    }

    /// Returns the routes of the lowest order whose conditions a request meets, stand-ins last.
    pub fn routes(&self, request: &RouteRequest) -> Vec<&'a RouteRow> {
        let mut routes = self.valid_rows(&self.data.routes);
        routes.retain(|route| route.fits(request));
        let lowest = routes.iter().map(|route| route.order).min();
        routes.retain(|route| Some(route.order) == lowest);
        routes.sort_by_key(|route| route.stand_in);
        routes
    }

    pub fn provider(&self, name: &str) -> Option<&'a ProviderRow> {
        let providers = self.valid_rows(&self.data.providers);
        providers.into_iter().find(|provider| provider.name == name)
    }

    pub fn profiles(&self) -> Vec<&'a IcpProfile> {
        self.valid_rows(&self.data.profiles)
    }

    fn valid_rows<T: DatedEntry>(&self, rows: &'a DatedRows<T>) -> Vec<&'a T> {
        let rows = rows.rows.iter().filter(|row| row.holds_on(self.day));
        rows.map(|row| &row.value).collect()
    }
}

impl<T> DatedRow<T> {
    fn holds_on(&self, day: Date) -> bool {
        self.from <= day && self.until.is_none_or(|until| day < until)
    }
}

impl<T: DatedEntry> DatedRows<T> {
    fn replace_by(&mut self, own: Self) {
        self.rows.retain(|row| !own.is_about(&row.value.subject()));
        self.rows.extend(own.rows);
    }

    fn is_about(&self, subject: &str) -> bool {
        self.rows.iter().any(|row| row.value.subject() == subject)
    }
}

impl<T> Default for DatedRows<T> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}
