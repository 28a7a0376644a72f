//! Options that select facts.

use anyhow::anyhow;
use clap::Args;
use kitbag_domain::Tenant;
use kitbag_platform::context::comparison_key;
use kitbag_store::{FactFilter, FactHolders};

use crate::cli::failure::Advise as _;

/// Options for the tenants that may read facts.
#[derive(Debug, Clone, Args)]
pub(super) struct HolderChoice {
    /// Tenant that owns the facts [default: local].
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Let all tenants read the facts.
    #[arg(long, conflicts_with = "tenant")]
    all_tenants: bool,
}

impl HolderChoice {
    /// Returns the tenant, or `None` for all tenants.
    pub(super) fn into_tenant(self) -> Option<Tenant> {
        match self.all_tenants {
            true => None,
            false => Some(self.tenant.unwrap_or_else(Tenant::local)),
        }
    }
}

#[derive(Debug, Clone, Args)]
#[group(id = "selection", multiple = true)]
pub(super) struct FactSelection {
    /// Only facts of this tenant.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Only facts that all tenants may read.
    #[arg(long, conflicts_with = "tenant")]
    all_tenants: bool,
    /// Only facts with this subject.
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Only facts with this predicate.
    #[arg(long, value_name = "NAME")]
    predicate: Option<String>,
    /// Only facts from this source.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only the fact with this ID.
    #[arg(long, value_name = "ID")]
    id: Option<i64>,
}

impl FactSelection {
    pub(super) fn to_filter(&self) -> FactFilter {
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

    /// Describes the selection for the audit log. Fails if nothing is selected and `all` is false.
    pub(super) fn describe(&self, all: bool) -> anyhow::Result<String> {
        let parts = [
            self.tenant.as_ref().map(|it| format!("tenant {it}")),
            self.all_tenants.then(|| "facts of all tenants".to_owned()),
            self.subject.as_ref().map(|it| format!("subject {it}")),
            self.predicate.as_ref().map(|it| format!("predicate {it}")),
            self.source.as_ref().map(|it| format!("source {it}")),
            self.id.map(|id| format!("fact {id}")),
            all.then(|| "all".to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return Err(anyhow!("no facts selected")).advise(|| {
                "select facts by --source, --subject, --tenant or --id, or pass --all".to_owned()
            });
        }
        Ok(parts.join(", "))
    }
}
