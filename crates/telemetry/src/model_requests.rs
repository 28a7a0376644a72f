//! The figures of requests to models that pass through the gateway.

use std::collections::BTreeMap;

use kitbag_domain::Tenant;

/// The figures by tenant and route.
#[derive(Debug, Clone, Default)]
pub struct ModelRequestFigures {
    routes: BTreeMap<(Tenant, &'static str), ModelFigures>,
}

/// Sums over requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelFigures {
    pub requests: u64,
    /// Requests whose vendor could not be reached.
    pub unreached: u64,
    /// Kitbag's tools that clients put into requests.
    pub offered: u64,
    /// Kitbag's tools that were forwarded.
    pub kept: u64,
    /// Estimated tokens of the tools that were not forwarded.
    pub tokens_saved: u64,
    /// Requests for which the search for tools did not finish in time.
    pub unguided: u64,
    /// Calls of Kitbag's tools that requests reported.
    pub used: u64,
}

impl ModelRequestFigures {
    pub fn add(&mut self, tenant: &Tenant, route: &'static str, figures: ModelFigures) {
        let sums = self.routes.entry((tenant.clone(), route)).or_default();
        sums.requests += figures.requests;
        sums.unreached += figures.unreached;
        sums.offered += figures.offered;
        sums.kept += figures.kept;
        sums.tokens_saved += figures.tokens_saved;
        sums.unguided += figures.unguided;
        sums.used += figures.used;
    }

    /// Returns the rows of a tenant, or of all tenants.
    pub fn rows(
        &self,
        tenant: Option<&Tenant>,
    ) -> impl Iterator<Item = (&Tenant, &'static str, &ModelFigures)> {
        let rows = self.routes.iter();
        rows.filter(move |((owner, _), _)| tenant.is_none_or(|tenant| owner == tenant))
            .map(|((owner, route), figures)| (owner, *route, figures))
    }
}
