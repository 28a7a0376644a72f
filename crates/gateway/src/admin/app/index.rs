//! Commands that build, check and search the gateway's index, and compute its priors.

use std::time::Duration;

use kitbag_embedding::EmbedderError;
use serde_json::Value;

use super::{App, UnlistedServer};
use crate::admin::priors_report::overdue_age_in;
use crate::admin::search::{self, IndexVerdict, OperatorSearch, SearchResult};
use crate::index::embedded_query::degraded_note;
use crate::learning::marks::{MarkError, ToolMark};
use crate::learning::priors::PriorsSummary;
use crate::learning::priors_schedule;
use crate::state::background;
use crate::state::clock::now;

#[derive(Debug, thiserror::Error)]
#[error("the index has no tool called `{name}`")]
pub struct NotIndexed {
    pub name: String,
}

impl NotIndexed {
    pub const REMEDY: &str =
        "list the names with `kitbag tools`; if it is listed, index it with `kitbag index build`";
}

impl App {
    /// Returns the tools for a query, best first, with a warning if vectors are missing.
    pub async fn search_tools(
        &self,
        search: OperatorSearch<'_>,
        progress: impl FnMut(usize, usize),
    ) -> anyhow::Result<SearchResult> {
        self.host.gateway().services.index.check_embedder().await?;
        let indexed = if self.is_indexed() {
            Ok(())
        } else {
            self.index_all(progress).await
        };
        let searched = search::search_index(&self.host.gateway(), search).await;
        let warning = searched
            .warning
            .or(indexed.err().map(|error| degraded_note(&error)));
        Ok(SearchResult {
            warning,
            ..searched
        })
    }

    /// Lists every server again and computes missing vectors. Returns the servers that did not
    /// answer.
    pub async fn build_index(
        &self,
        progress: impl FnMut(usize, usize),
    ) -> anyhow::Result<Vec<UnlistedServer>> {
        self.host.gateway().services.index.check_embedder().await?;
        let failed = self.relist_all().await;
        self.index_all(progress).await?;
        background::warn_about_unknown_tools(&self.host.gateway());
        Ok(failed)
    }

    /// Computes the priors of tools from the audit, and updates the index and the mirror.
    pub async fn run_priors(&self) -> anyhow::Result<PriorsSummary> {
        let gateway = self.host.gateway();
        let index = &gateway.services.index;
        let namespace = index.namespace().await?;
        let _alone = gateway.services.store.lock_priors(&namespace).await?;
        let summary = priors_schedule::update_priors(&gateway, &namespace).await?;
        let (catalog, unlisted) = (gateway.catalog(), gateway.unlisted_servers());
        index
            .update_priors(&gateway.index_contents(&catalog, &unlisted))
            .await?;
        index.set_priors_updated_at(summary.counted_at).await?;
        Ok(summary)
    }

    /// Returns the age of the priors if they are overdue.
    pub async fn overdue_priors_age(&self) -> anyhow::Result<Option<Duration>> {
        let gateway = self.host.gateway();
        let namespace = gateway.services.index.namespace().await?;
        let (schedule, store) = (gateway.priors.schedule.as_ref(), &gateway.services.store);
        Ok(overdue_age_in(&namespace, schedule, store, now()).await?)
    }

    /// Teaches the searches of a tenant that a tool is right for a request, or wrong.
    pub async fn mark_tool(&self, mark: &ToolMark) -> Result<(), MarkError> {
        let gateway = self.host.gateway();
        if mark.query.trim().is_empty() {
            return Err(MarkError::NoQuery);
        }
        if gateway
            .services
            .index
            .snapshot()
            .index
            .get(&mark.tool)
            .is_none()
        {
            let name = mark.tool.clone();
            return Err(MarkError::UnknownTool { name });
        }
        let learner = &gateway.services.learner;
        learner.learn_mark(&gateway.learning, mark).await
    }

    pub async fn verify_index(
        &self,
        progress: impl FnMut(usize, usize),
    ) -> anyhow::Result<IndexVerdict> {
        self.index_all(progress).await?;
        Ok(search::verify_index(&self.host.gateway()).await)
    }

    /// Returns the entry of the index's mirror for a tool.
    pub async fn index_entry(&self, name: &str) -> anyhow::Result<Value> {
        let stored = self
            .host
            .gateway()
            .services
            .index
            .mirror_entry(name)
            .await?;
        let stored = stored.ok_or_else(|| NotIndexed {
            name: name.to_owned(),
        })?;
        let mut entry: Value = serde_json::from_str(&stored)?;
        let gateway = self.host.gateway();
        entry["code_template"] = gateway.code_template(&gateway.catalog(), name).into();
        Ok(entry)
    }

    pub fn index_size(&self) -> usize {
        self.host
            .gateway()
            .services
            .index
            .snapshot()
            .count_served()
            .0
    }

    /// True if every tool is indexed with its vector, as in a running gateway.
    fn is_indexed(&self) -> bool {
        let gateway = self.host.gateway();
        let (tools, snapshot) = (
            gateway.catalog().tools.len(),
            gateway.services.index.snapshot(),
        );
        snapshot.count_served() == (tools, tools)
    }

    async fn index_all(&self, progress: impl FnMut(usize, usize)) -> Result<(), EmbedderError> {
        let gateway = self.host.gateway();
        let (catalog, unlisted) = (gateway.catalog(), gateway.unlisted_servers());
        gateway
            .services
            .index
            .rebuild(
                &gateway.index_contents(&catalog, &unlisted),
                || false,
                progress,
            )
            .await
    }
}
