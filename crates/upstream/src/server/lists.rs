//! Reads a server's lists, and checks them before a call.

use std::sync::Arc;
use std::time::Duration;

use kitbag_domain::DefinitionKind;
use kitbag_domain::sync::lock;
use tokio::time::{Instant, timeout};

use super::{LiveConnection, Server};
use crate::error::CallError;
use crate::exchange::Approval;
use crate::list_ages::{Doubt, Reading};
use crate::listing::{LIST_TIMEOUT, Listing};
use crate::router::{Notice, NoticeKind};

/// The lists that decide whether a call may be sent.
const APPROVED: [DefinitionKind; 2] = [DefinitionKind::Tool, DefinitionKind::Prompt];

impl Server {
    /// Reads all lists of the server. If one of them takes long, `early` is called as soon as the
    /// tools are known. A process that was started only for this is stopped again.
    pub async fn read_all_lists(
        self: &Arc<Self>,
        early: impl FnOnce(&Listing),
    ) -> Result<Arc<Listing>, CallError> {
        self.first_requested.get_or_init(Instant::now);
        let listed = {
            // Held while it waits, too: the program is not stopped and restarted between two reads.
            let _block = self.block_stop();
            let _reading = self.reading.lock().await;
            self.read_lists(early).await
        };
        let failure = listed.as_ref().err().cloned().map(Arc::new);
        self.list_failure.store(failure);
        if self.spec.launch().is_some() {
            let server = self.clone();
            tokio::spawn(async move { server.stop_if_only_listed().await });
        }
        listed
    }

    /// Returns when its lists were first requested, if they were.
    pub fn first_listed_at(&self) -> Option<Instant> {
        self.first_requested.get().copied()
    }

    /// True while its lists are being read.
    pub fn is_reading_lists(&self) -> bool {
        self.reading.try_lock().is_err()
    }

    /// Returns the reason why its lists could not be read the last time.
    pub fn list_failure(&self) -> Option<Arc<CallError>> {
        self.list_failure.load_full()
    }

    async fn read_lists(
        self: &Arc<Self>,
        early: impl FnOnce(&Listing),
    ) -> Result<Arc<Listing>, CallError> {
        let live = self.start_or_restart().await?;
        self.record_use();
        let reading = self.context.ages.begin_reading(&APPROVED);
        let listing = live.connection.fetch_lists(|first| {
            let tools = self.merge_known(first);
            early(&self.store_listing(tools, &[DefinitionKind::Tool], reading));
        });
        match listing.await {
            Ok(listing) => Ok(self.store_listing(listing, &APPROVED, reading)),
            Err(error) => {
                self.context.ages.fail_reading(&APPROVED);
                Err(error)
            }
        }
    }

    /// Returns the tools of an incomplete listing, with the other lists as known.
    fn merge_known(&self, first: Listing) -> Listing {
        match self.listing() {
            Some(known) => Listing {
                tools: first.tools,
                ..(*known).clone()
            },
            None => first,
        }
    }

    /// Replaces the known listing. Tools and prompts are taken from their latest read: a slow read
    /// of everything may end after a fast read of the tools that began later.
    fn store_listing(
        &self,
        listing: Listing,
        read: &[DefinitionKind],
        reading: Reading,
    ) -> Arc<Listing> {
        let mut listing = self.mask_listing(listing);
        let _guard = lock(&self.replacing);
        if let Some(known) = self.listing() {
            let is_older =
                |kind| !read.contains(&kind) || !self.context.ages.finish_reading(kind, reading);
            for kind in APPROVED.into_iter().filter(|kind| is_older(*kind)) {
                listing.copy_list(kind, &known);
            }
        } else {
            for kind in read {
                self.context.ages.finish_reading(*kind, reading);
            }
        }
        let listing = Arc::new(listing);
        self.listing.store(Some(listing.clone()));
        listing
    }

    /// Returns the connection over which a request may go: the server's list was read since any
    /// hint of a change, is recent enough, and is approved.
    pub(super) async fn approved_connection(
        self: &Arc<Self>,
        approval: &Approval,
    ) -> Result<Arc<LiveConnection>, CallError> {
        let live = self.start_or_restart().await?;
        // After the start, which is a reason for doubt itself.
        let doubt = self.context.ages.last_doubt(approval.list);
        let listing = match self.current_listing(approval, doubt) {
            Some(listing) => listing,
            None => {
                let reading = timeout(
                    self.list_timeout(),
                    self.read_deciding_list(&live, approval, doubt),
                );
                let read = reading.await.unwrap_or_else(|_| Err(self.unlisted_error()));
                read?
            }
        };
        match (approval.accepts)(&listing) {
            true => Ok(live),
            false => Err(CallError::Unapproved {
                server: self.name().clone(),
            }),
        }
    }

    fn current_listing(&self, approval: &Approval, doubt: Doubt) -> Option<Arc<Listing>> {
        let _guard = lock(&self.replacing);
        let ages = &self.context.ages;
        let is_settled = ages.is_settled(approval.list, doubt, approval.max_age);
        self.listing().filter(|_| is_settled)
    }

    /// Reads the list that is checked. Callers that arrive in the meantime share the next read.
    async fn read_deciding_list(
        &self,
        live: &LiveConnection,
        approval: &Approval,
        doubt: Doubt,
    ) -> Result<Arc<Listing>, CallError> {
        let _checking = self.checking.lock().await;
        if let Some(listing) = self.current_listing(approval, doubt) {
            return Ok(listing);
        }
        let list = approval.list;
        let known = self.listing();
        let mut listing = match &known {
            Some(known) => (**known).clone(),
            None => Listing::from_hello(&live.connection.hello),
        };
        let reading = self.context.ages.begin_reading(&[list]);
        let read = live.connection.refetch_list(list, &mut listing).await;
        if let Err(error) = read {
            self.context.ages.fail_reading(&[list]);
            return Err(match error {
                CallError::TimedOut { .. } => self.unlisted_error(),
                other => other,
            });
        }
        let listing = self.mask_listing(listing);
        if let Some(known) =
            known.filter(|known| is_same(known.definitions(list), listing.definitions(list)))
            && self.confirm_unchanged(&known, list, reading)
        {
            return Ok(known);
        }
        let listing = self.store_listing(listing, &[list], reading);
        self.announce_list(list);
        Ok(listing)
    }

    /// Records that the known lists are still the same. Returns false if they were replaced in the
    /// meantime.
    fn confirm_unchanged(
        &self,
        known: &Arc<Listing>,
        list: DefinitionKind,
        reading: Reading,
    ) -> bool {
        let _guard = lock(&self.replacing);
        let is_known = self.listing().is_some_and(|now| Arc::ptr_eq(&now, known));
        is_known && self.context.ages.finish_reading(list, reading)
    }

    fn unlisted_error(&self) -> CallError {
        CallError::Unlisted {
            server: self.name().clone(),
            after: self.list_timeout(),
        }
    }

    /// How long a call waits at most for the list that is checked.
    fn list_timeout(&self) -> Duration {
        self.spec.limits.call_timeout.min(LIST_TIMEOUT)
    }

    /// Has its lists read again, as if it had announced a change.
    pub fn mark_lists_doubtful(&self) {
        self.context.ages.mark_all_doubtful();
        APPROVED
            .into_iter()
            .for_each(|kind| self.announce_list(kind));
    }

    /// Announces to the gateway that a list has changed.
    fn announce_list(&self, kind: DefinitionKind) {
        let notice = Notice {
            server: self.name().clone(),
            kind: match kind {
                DefinitionKind::Prompt => NoticeKind::PromptsChanged,
                DefinitionKind::Tool => NoticeKind::ToolsChanged,
                DefinitionKind::ResourceTemplate
                | DefinitionKind::Skill
                | DefinitionKind::Resource => NoticeKind::ResourcesChanged,
            },
        };
        let notices = self.notices.clone();
        tokio::spawn(async move { notices.send(notice).await });
    }

    /// Adopts a listing that another process has read from the same server. Before a call it is
    /// compared with this server's answer.
    pub fn adopt_listing(&self, listing: Listing) {
        let listing = self.mask_listing(listing);
        let _guard = lock(&self.replacing);
        self.listing.store(Some(Arc::new(listing)));
        self.context.ages.mark_all_doubtful();
    }

    /// True if its lists are from an earlier run, or may have changed since they were read.
    pub fn is_stale(&self) -> bool {
        self.context.ages.wants_reading()
    }
}

fn is_same(before: &[kitbag_wire::Raw], after: &[kitbag_wire::Raw]) -> bool {
    let (before, after) = (before.iter(), after.iter());
    before.map(|it| it.get()).eq(after.map(|it| it.get()))
}
