//! The index that searches see, replaced as a whole when a tool or its vector changes.

use std::sync::Arc;

use kitbag_domain::ServerName;
use kitbag_relevance::{Index, Options, QueryMatches, Retrieved};

use super::embedded_query::EmbeddedQuery;
use super::source::IndexSource;
use crate::catalog::CatalogEntry;
use crate::catalog::list_diff::previous_positions;

/// The subject of a document of the index.
#[derive(Debug, Clone)]
pub(crate) enum IndexSubject {
    Tool(Arc<CatalogEntry>),
    /// An HTTP API.
    Provider(ServerName),
    /// An unapproved tool: it is counted but never found.
    Unapproved(Arc<CatalogEntry>),
}

/// The index with the data about its documents that the policy and the embedder need, in the same
/// order.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) index: Arc<Index>,
    pub(super) subjects: Arc<[IndexSubject]>,
    pub(super) sources: Arc<[Arc<IndexSource>]>,
}

/// A query compared with a snapshot; it can be ranked for several filters.
pub(crate) struct SnapshotMatches<'a> {
    snapshot: &'a Snapshot,
    matches: QueryMatches<'a>,
}

impl Snapshot {
    /// Compares the query with all tools.
    pub(crate) fn match_query<'a>(
        &'a self,
        query: &'a EmbeddedQuery,
        options: &Options,
    ) -> SnapshotMatches<'a> {
        SnapshotMatches {
            snapshot: self,
            matches: QueryMatches::new(&self.index, query.as_query(), options.weights),
        }
    }

    /// Returns the position of each subject in this snapshot, by its name.
    pub(super) fn find_positions(&self, subjects: &[IndexSubject]) -> Vec<Option<usize>> {
        let [before, now] = [&self.subjects, subjects]
            .map(|it| it.iter().map(IndexSubject::name).collect::<Vec<_>>());
        previous_positions(&before, &now)
    }

    /// Returns the number of tools and APIs that callers may find, and how many of them have a
    /// vector.
    pub(crate) fn count_served(&self) -> (usize, usize) {
        let served = self.subjects.iter().enumerate();
        let served = served.filter(|(_, subject)| !subject.is_unapproved());
        served.fold((0, 0), |(tools, embedded), (position, _)| {
            let is_embedded = self.index.is_embedded(position);
            (tools + 1, embedded + usize::from(is_embedded))
        })
    }
}

impl SnapshotMatches<'_> {
    /// Returns the best tools that `allowed` and the filters of the options admit.
    pub(crate) fn rank(
        &self,
        options: &Options,
        allowed: impl Fn(&IndexSubject) -> bool,
    ) -> Retrieved {
        let subjects = &self.snapshot.subjects;
        self.matches.rank(options, |at| allowed(&subjects[at]))
    }
}

impl IndexSubject {
    /// Returns the server or API to which it belongs.
    pub(crate) fn owner(&self) -> &ServerName {
        match self {
            Self::Tool(entry) | Self::Unapproved(entry) => &entry.capability.server,
            Self::Provider(name) => name,
        }
    }

    pub(super) fn entry(&self) -> Option<&Arc<CatalogEntry>> {
        match self {
            Self::Tool(entry) | Self::Unapproved(entry) => Some(entry),
            Self::Provider(_) => None,
        }
    }

    /// Returns its name in the index.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Tool(entry) | Self::Unapproved(entry) => &entry.exposed,
            Self::Provider(name) => name.as_str(),
        }
    }

    /// True if the tool's definition is certainly unchanged.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Tool(one) | Self::Unapproved(one),
                Self::Tool(other) | Self::Unapproved(other),
            ) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    pub(crate) fn is_unapproved(&self) -> bool {
        matches!(self, Self::Unapproved(_))
    }
}
