//! Type names that mean more than one type.

use std::collections::BTreeMap;

use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{ItemEnum, ItemStruct, ItemTrait, ItemType};

use super::source::SourceFile;

/// A name with several definitions, each as `path:line`.
#[derive(Debug)]
pub struct SharedName {
    pub name: String,
    pub defined_at: Vec<String>,
}

/// Each name of a struct, enum, trait or type alias, with where it is defined.
#[must_use]
pub fn defined(files: &[&SourceFile]) -> BTreeMap<String, Vec<String>> {
    let mut found = Definitions::default();
    for file in files {
        found.path.clone_from(&file.path);
        found.visit_file(&file.syntax);
    }
    found.names
}

/// Those that are defined more than once, the most frequent first.
#[must_use]
pub fn shared(defined: BTreeMap<String, Vec<String>>) -> Vec<SharedName> {
    let mut shared: Vec<SharedName> = defined
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, defined_at)| SharedName { name, defined_at })
        .collect();
    shared.sort_by_key(|found| std::cmp::Reverse(found.defined_at.len()));
    shared
}

#[derive(Default)]
struct Definitions {
    path: String,
    names: BTreeMap<String, Vec<String>>,
}

impl Definitions {
    fn add(&mut self, name: &Ident) {
        let place = format!("{}:{}", self.path, name.span().start().line);
        self.names.entry(name.to_string()).or_default().push(place);
    }
}

impl<'ast> Visit<'ast> for Definitions {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.add(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.add(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.add(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.add(&item.ident);
        visit::visit_item_type(self, item);
    }
}
