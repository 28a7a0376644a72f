//! The surfaces on which models are asked, and the number of turns.

use anyhow::bail;
use clap::Args;
use kitbag_eval::{EvalSurface, EvalTools, ShownSurface, Suite};

use super::server::EvalGateway;
use crate::cli::failure::Advise as _;

/// The turns are enough to search twice, to read two definitions, to call, and to call again after
/// an error.
const USUAL_TURNS: u32 = 6;
/// Our own tasks take up to four calls. Each may need a search, a definition and a second try.
const USUAL_TASK_TURNS: u32 = 16;

#[derive(Debug, Args)]
#[command(next_help_heading = "Surfaces")]
pub(super) struct SurfaceChoice {
    /// The tools that models are shown: all (every tool), search (the four tools that find and
    /// call the others), adaptive (those, and a list that follows the model), code (the tools that
    /// run programs); several are compared. Adaptive and code are for tasks.
    #[arg(
        long = "surface",
        value_name = "SURFACE",
        value_delimiter = ',',
        default_value = "all"
    )]
    surfaces: Vec<EvalSurface>,
    /// Answers a model may give: 16 for a task, and 6 to a prompt on the surface search, unless
    /// given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
}

/// A surface, and the tools that it lists at first.
pub(super) type ListedSurface = (EvalSurface, EvalTools);

impl SurfaceChoice {
    /// Refuses combinations of options that mean nothing for the suite.
    pub(super) fn check_suite(&self, suite: &Suite) -> anyhow::Result<()> {
        let twice = EvalSurface::ALL
            .into_iter()
            .find(|it| self.surfaces.iter().filter(|on| *on == it).count() > 1);
        if let Some(surface) = twice {
            bail!("the surface {surface} is named twice; to ask more often, use --runs");
        }
        if !suite.tasks.is_empty() {
            return Ok(());
        }
        if self.max_turns.is_some() && !self.surfaces.contains(&EvalSurface::Search) {
            bail!(
                "--max-turns is for --surface search and for tasks; a model that is shown every tool calls one at once"
            );
        }
        let mut surfaces = self.surfaces.iter();
        if let Some(surface) = surfaces.find(|it| !it.judges_first_calls()) {
            return Err(anyhow::anyhow!(
                "the suite has prompts alone, and on the surface {surface} no first call can be judged"
            ))
            .advise(|| "write tasks, which are judged by what is true at their end".to_owned());
        }
        Ok(())
    }

    /// Returns the surfaces in the order in which they were named.
    pub(super) async fn list_surfaces(
        &self,
        examined: &EvalGateway,
    ) -> anyhow::Result<Vec<ListedSurface>> {
        let mut listed = Vec::with_capacity(self.surfaces.len());
        for surface in &self.surfaces {
            listed.push((*surface, examined.shown_tools(*surface).await?));
        }
        Ok(listed)
    }

    /// Returns the surfaces with the turns that models have on them.
    pub(super) fn shown_surfaces<'a>(&self, listed: &'a [ListedSurface]) -> Vec<ShownSurface<'a>> {
        let turns = self.max_turns.unwrap_or(USUAL_TURNS);
        let task_turns = self.max_turns.unwrap_or(USUAL_TASK_TURNS);
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
