//! The surfaces on which models are asked, and the number of turns.

use anyhow::bail;
use clap::Args;
use kitbag_exam::{ExamSurface, ShownSurface};

use super::server::Examined;

/// The turns are enough to search twice, to read two definitions, to call, and to call again after
/// an error.
const USUAL_TURNS: u32 = 6;

#[derive(Debug, Args)]
#[command(next_help_heading = "Surfaces")]
pub(super) struct ExamSurfaces {
    /// The tools that models are shown: all (every tool), search (the four tools that find and
    /// call the others), or both, to compare them.
    #[arg(
        long = "surface",
        value_name = "SURFACE",
        value_delimiter = ',',
        default_value = "all"
    )]
    surfaces: Vec<ExamSurface>,
    /// Answers a model may give to a prompt on the surface search; 6 unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
}

impl ExamSurfaces {
    /// Refuses combinations of options that mean nothing.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let twice = ExamSurface::ALL
            .into_iter()
            .find(|it| self.surfaces.iter().filter(|on| *on == it).count() > 1);
        if let Some(surface) = twice {
            bail!("the surface {surface} is named twice; to ask more often, use --runs");
        }
        if self.max_turns.is_some() && !self.has(ExamSurface::Search) {
            bail!(
                "--max-turns is for --surface search; a model that is shown every tool calls one at once"
            );
        }
        Ok(())
    }

    pub(super) fn has(&self, surface: ExamSurface) -> bool {
        self.surfaces.contains(&surface)
    }

    /// Returns the surfaces in the order in which they were named.
    pub(super) fn shown<'a>(&self, examined: &'a Examined) -> Vec<ShownSurface<'a>> {
        let turns = self.max_turns.unwrap_or(USUAL_TURNS);
        let surfaces = self.surfaces.iter();
        surfaces.map(|it| shown(*it, examined, turns)).collect()
    }
}

fn shown(surface: ExamSurface, examined: &Examined, turns: u32) -> ShownSurface<'_> {
    match surface {
        ExamSurface::All => ShownSurface::all(&examined.tools),
        ExamSurface::Search => ShownSurface::search(&examined.search_tools, turns),
    }
}
