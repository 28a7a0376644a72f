//! The figures of requests to models that pass through the gateway.

use std::collections::BTreeMap;

use kitbag_domain::Tenant;

/// The figures of each tenant and each route.
#[derive(Debug, Clone, Default)]
pub struct ModelRequestFigures {
    routes: BTreeMap<(Tenant, &'static str), ModelFigures>,
}

/// Sums over requests; a single request is a row of ones and of its own numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelFigures {
    pub requests: u64,
    /// Requests for which the vendor could not be reached.
    pub unreached: u64,
    /// Our tools that clients put into requests, and those that were passed on.
    pub offered: u64,
    pub kept: u64,
    /// Estimated tokens of the tools that were not passed on.
    pub tokens_saved: u64,
    /// Requests for which the tools that fit could not be found in time.
    pub unguided: u64,
    /// Calls of our tools that requests told of.
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
    pub fn of(
        &self,
        tenant: Option<&Tenant>,
    ) -> impl Iterator<Item = (&Tenant, &'static str, &ModelFigures)> {
        let rows = self.routes.iter();
        rows.filter(move |((of, _), _)| tenant.is_none_or(|tenant| of == tenant))
            .map(|((of, route), figures)| (of, *route, figures))
    }
}
