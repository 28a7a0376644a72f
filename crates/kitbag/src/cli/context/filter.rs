//! The facts that a person means.

use anyhow::anyhow;
use clap::Args;
use kitbag_domain::Tenant;
use kitbag_platform::context::comparison_key;
use kitbag_store::{FactFilter, FactHolders};

use crate::cli::failure::Advise as _;

/// The tenants that may read facts.
#[derive(Debug, Clone, Args)]
pub(super) struct HolderChoice {
    /// The tenant that the facts belong to, `local` unless given.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// All tenants may read the facts.
    #[arg(long, conflicts_with = "tenant")]
    all_tenants: bool,
}

impl HolderChoice {
    /// Returns the tenant, or nothing for all of them.
    pub(super) fn or_local(self) -> Option<Tenant> {
        match self.all_tenants {
            true => None,
            false => Some(self.tenant.unwrap_or_else(Tenant::local)),
        }
    }
}

#[derive(Debug, Clone, Args)]
#[group(id = "selection", multiple = true)]
pub(super) struct FactSelection {
    /// Facts of this tenant.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Facts that all tenants may read.
    #[arg(long, conflicts_with = "tenant")]
    all_tenants: bool,
    /// Facts about this.
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Facts about this property.
    #[arg(long, value_name = "NAME")]
    predicate: Option<String>,
    /// Facts from this source.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// The fact of this number.
    #[arg(long, value_name = "ID")]
    id: Option<i64>,
}

impl FactSelection {
    pub(super) fn filter(&self) -> FactFilter {
        FactFilter {
            holders: match (&self.tenant, self.all_tenants) {
                (Some(tenant), _) => FactHolders::Only(Some(tenant.clone())),
                (None, true) => FactHolders::Only(None),
                (None, false) => FactHolders::Any,
            },
            subject_key: self.subject.as_deref().map(comparison_key),
            predicate_key: self.predicate.as_deref().map(comparison_key),
            source: self.source.clone(),
            id: self.id,
            ..FactFilter::default()
        }
    }

    /// Returns the name of the facts in the audit. One who forgets must say which, or `--all`.
    pub(super) fn named(&self, all: bool) -> anyhow::Result<String> {
        let parts = [
            self.tenant.as_ref().map(|it| format!("tenant {it}")),
            self.all_tenants.then(|| "those for all tenants".to_owned()),
            self.subject.as_ref().map(|it| format!("subject {it}")),
            self.predicate.as_ref().map(|it| format!("predicate {it}")),
            self.source.as_ref().map(|it| format!("source {it}")),
            self.id.map(|id| format!("fact {id}")),
            all.then(|| "all".to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return Err(anyhow!("it is not said which facts are to be forgotten")).advise(|| {
                "name a source, a subject, a tenant or an id, or give --all".to_owned()
            });
        }
        Ok(parts.join(", "))
    }
}
