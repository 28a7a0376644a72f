//! The surfaces to measure, and the number of turns.

use anyhow::bail;
use clap::Args;
use kitbag_eval::{EvalSurface, EvalTools, ShownSurface, Suite};

use super::server::EvalGateway;
use crate::cli::failure::Advise as _;

/// Enough to search twice, read two definitions, call, and retry once.
const DEFAULT_TURNS: u32 = 6;
/// Our own tasks take up to four calls, each with a possible search, definition and retry.
const DEFAULT_TASK_TURNS: u32 = 16;

#[derive(Debug, Args)]
#[command(next_help_heading = "Surfaces")]
pub(super) struct SurfaceChoice {
    /// Surfaces to measure: all (every tool), search (four tools that find and call the others), adaptive
    /// (the same, and a list that follows the model), code (tools that run programs). Several are
    /// compared. adaptive and code work only with tasks.
    #[arg(
        long = "surface",
        value_name = "SURFACE",
        value_delimiter = ',',
        default_value = "all"
    )]
    surfaces: Vec<EvalSurface>,
    /// Maximum number of model turns [default: 16 for a task, 6 for a prompt on the surface search].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
}

/// A surface and its initial tools.
pub(super) type ListedSurface = (EvalSurface, EvalTools);

impl SurfaceChoice {
    /// Rejects options that do not apply to the suite.
    pub(super) fn check_suite(&self, suite: &Suite) -> anyhow::Result<()> {
        let twice = EvalSurface::ALL
            .into_iter()
            .find(|it| self.surfaces.iter().filter(|on| *on == it).count() > 1);
        if let Some(surface) = twice {
            bail!("surface {surface} is given twice; for more runs, use --runs");
        }
        if !suite.tasks.is_empty() {
            return Ok(());
        }
        if self.max_turns.is_some() && !self.surfaces.contains(&EvalSurface::Search) {
            bail!(
                "--max-turns applies only to --surface search and to tasks; on surface all, only the first call counts"
            );
        }
        let mut surfaces = self.surfaces.iter();
        if let Some(surface) = surfaces.find(|it| !it.judges_first_calls()) {
            return Err(anyhow::anyhow!(
                "the suite has only prompts, whose first call cannot be judged on surface {surface}"
            ))
            .advise(|| "add tasks, which are judged by their outcome".to_owned());
        }
        Ok(())
    }

    /// Lists the surfaces in the order given.
    pub(super) async fn list_surfaces(
        &self,
        gateway: &EvalGateway,
    ) -> anyhow::Result<Vec<ListedSurface>> {
        let mut listed = Vec::with_capacity(self.surfaces.len());
        for surface in &self.surfaces {
            listed.push((*surface, gateway.shown_tools(*surface).await?));
        }
        Ok(listed)
    }

    /// Returns the surfaces with their numbers of turns.
    pub(super) fn shown_surfaces<'a>(&self, listed: &'a [ListedSurface]) -> Vec<ShownSurface<'a>> {
        let turns = self.max_turns.unwrap_or(DEFAULT_TURNS);
        let task_turns = self.max_turns.unwrap_or(DEFAULT_TASK_TURNS);
        let listed = listed.iter();
        listed
            .map(|(surface, tools)| ShownSurface::new(*surface, tools, turns, task_turns))
            .collect()
    }

    /// True if a model can search on one of the surfaces.
    pub(super) fn has_search(&self) -> bool {
        self.surfaces.iter().any(|it| *it != EvalSurface::All)
    }
}
