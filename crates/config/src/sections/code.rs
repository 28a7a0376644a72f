//! `[code]`: programs written by models, and their limits.

use std::path::PathBuf;
use std::time::Duration;

use kitbag_domain::Surface;
use kitbag_intents::{ExecutionMode, RouteFlags};
use toml::Spanned;

use crate::error::{Fault, Problem};
use crate::load::BaseDirs;
use crate::raw::{RawDuration, Texts};
use crate::rows::{KeyRow, KeyTable, SectionRow};
use crate::sections::surfaces::parse_surface;
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.code));

const TABLE: KeyTable = KeyTable {
    path: "code",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "surfaces",
            meaning: "The surfaces that list `run_code` and `run_intent`. The `code` surface lists nothing else.",
            ..KeyRow::texts(|| vec!["code".to_owned()])
        },
        KeyRow {
            name: "execution_mode",
            meaning: "How `run_intent` works: programs first, then plain calls (`\"hybrid\"`); plain calls only \
                      (`\"mcp_only\"`, which also disables `run_code`); or programs only (`\"code_execution\"`).",
            ..KeyRow::text(|| ExecutionMode::default().as_str().to_owned())
        },
        KeyRow {
            name: "enable_code_generation",
            meaning: "`false` disables templates.",
            ..KeyRow::flag(|| RouteFlags::default().enable_code_generation)
        },
        KeyRow {
            name: "enable_mcp_fallback",
            meaning: "`true` calls the tool that matches an intent when its template fails, unless the template may have \
                      written something.",
            ..KeyRow::flag(|| RouteFlags::default().enable_mcp_fallback)
        },
        KeyRow {
            name: "enable_capability_discovery",
            meaning: "`true` searches for a tool when no template matches an intent.",
            ..KeyRow::flag(|| RouteFlags::default().enable_capability_discovery)
        },
        KeyRow {
            name: "enable_template_learning",
            meaning: "`true` creates templates from programs that succeeded repeatedly: [intents.md](intents.md).",
            ..KeyRow::flag(|| RouteFlags::default().enable_template_learning)
        },
        KeyRow {
            name: "templates",
            meaning: "The directory of your own templates, `*.toml`. They are reloaded with the configuration.",
            ..KeyRow::unset("`templates` in the data directory")
        },
        KeyRow {
            name: "cache",
            meaning: "How long a read-only result is reused for the same intent of the same tenant; `0` disables \
                      the cache.",
            ..KeyRow::duration(|| Code::default().cache)
        },
        KeyRow {
            name: "isolation",
            meaning: "`\"required\"` runs programs only where the kernel has every sandbox layer; \
                      `\"best_effort\"` runs them with the layers that are available. `kitbag doctor` lists the layers.",
            ..KeyRow::text(|| "required".to_owned())
        },
        KeyRow {
            name: "timeout",
            meaning: "The longest time a program may run, including calls. Time spent waiting for the user's answer \
                      does not count.",
            ..KeyRow::duration(|| Code::default().timeout)
        },
        KeyRow {
            name: "memory_mb",
            meaning: "The memory a program may use, in megabytes; at most 512.",
            ..KeyRow::number(|| Code::default().memory_mb)
        },
        KeyRow {
            name: "max_output_bytes",
            meaning: "The largest return value of a program, and the largest output it may print. A model is shown less: \
                      `result_tokens` in `[surfaces]`.",
            ..KeyRow::number(|| Code::default().max_output_bytes)
        },
        KeyRow {
            name: "max_calls",
            meaning: "The number of calls a program may make.",
            ..KeyRow::number(|| Code::default().max_calls)
        },
        KeyRow {
            name: "max_parallel_calls",
            meaning: "The number of concurrent calls of one program. Further calls wait.",
            ..KeyRow::number(|| Code::default().max_parallel_calls)
        },
        KeyRow {
            name: "workers",
            meaning: "The number of concurrent programs, each in its own process. Further programs wait.",
            ..KeyRow::number(|| Code::default().workers)
        },
        KeyRow {
            name: "warm_workers",
            meaning: "The number of idle processes kept ready once a first program has run.",
            ..KeyRow::number(|| Code::default().warm_workers)
        },
    ],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawCode {
    surfaces: Option<Texts>,
    execution_mode: Option<Spanned<String>>,
    enable_code_generation: Option<bool>,
    enable_mcp_fallback: Option<bool>,
    enable_capability_discovery: Option<bool>,
    enable_template_learning: Option<bool>,
    templates: Option<String>,
    cache: Option<Spanned<RawDuration>>,
    isolation: Option<Spanned<String>>,
    timeout: Option<Spanned<RawDuration>>,
    memory_mb: Option<Spanned<i64>>,
    max_output_bytes: Option<Spanned<i64>>,
    max_calls: Option<Spanned<i64>>,
    max_parallel_calls: Option<Spanned<i64>>,
    workers: Option<Spanned<i64>>,
    warm_workers: Option<Spanned<i64>>,
}

/// The settings of programs written by models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The surfaces that list the tools that run programs.
    pub surfaces: Vec<Surface>,
    /// The steps that `run_intent` takes.
    pub route: RouteFlags,
    /// The directory of the operator's templates, which need not exist.
    pub templates: PathBuf,
    /// How long a result is reused.
    pub cache: Duration,
    /// True if programs may run where the kernel lacks a sandbox layer.
    pub best_effort: bool,
    pub timeout: Duration,
    pub memory_mb: usize,
    pub max_output_bytes: usize,
    pub max_calls: usize,
    pub max_parallel_calls: usize,
    pub workers: usize,
    pub warm_workers: usize,
}

impl Default for Code {
    fn default() -> Self {
        Self {
            surfaces: vec![Surface::Code],
            route: RouteFlags::default(),
            templates: PathBuf::new(),
            cache: Duration::from_secs(300),
            best_effort: false,
            timeout: Duration::from_secs(30),
            // A program joins results; it does not hold data sets.
            memory_mb: 128,
            max_output_bytes: 1_000_000,
            max_calls: 200,
            max_parallel_calls: 16,
            // A program that waits for a server keeps its worker busy. With the memory limit above,
            // all workers together stay within two gigabytes.
            workers: 16,
            warm_workers: 2,
        }
    }
}

pub(crate) fn build(raw: RawCode, base_dirs: &BaseDirs) -> Result<Code, Fault> {
    let section = Section::new("code");
    let default = Code::default();
    let route = default.route;
    let surfaces = raw.surfaces.map(|names| parse_surfaces(&section, &names));
    let isolation = [("required", false), ("best_effort", true)];
    Ok(Code {
        surfaces: surfaces.transpose()?.unwrap_or(default.surfaces),
        route: RouteFlags {
            execution_mode: section
                .parse_choice("execution_mode", raw.execution_mode, &execution_modes())?
                .unwrap_or_default(),
            enable_code_generation: raw
                .enable_code_generation
                .unwrap_or(route.enable_code_generation),
            enable_mcp_fallback: raw.enable_mcp_fallback.unwrap_or(route.enable_mcp_fallback),
            enable_capability_discovery: raw
                .enable_capability_discovery
                .unwrap_or(route.enable_capability_discovery),
            enable_template_learning: raw
                .enable_template_learning
                .unwrap_or(route.enable_template_learning),
        },
        templates: raw.templates.map_or_else(
            || base_dirs.data_dir.join("templates"),
            |path| base_dirs.resolve_path(&path),
        ),
        cache: section.parse_duration_or_off("cache", raw.cache, default.cache)?,
        best_effort: section
            .parse_choice("isolation", raw.isolation, &isolation)?
            .unwrap_or_default(),
        timeout: section.parse_duration("timeout", raw.timeout, default.timeout)?,
        memory_mb: parse_memory(&section, raw.memory_mb, default.memory_mb)?,
        max_output_bytes: section.parse_number(
            "max_output_bytes",
            raw.max_output_bytes,
            1_000,
            default.max_output_bytes,
        )?,
        max_calls: section.parse_number("max_calls", raw.max_calls, 1, default.max_calls)?,
        max_parallel_calls: section.parse_number(
            "max_parallel_calls",
            raw.max_parallel_calls,
            1,
            default.max_parallel_calls,
        )?,
        workers: section.parse_number("workers", raw.workers, 1, default.workers)?,
        warm_workers: section.parse_number(
            "warm_workers",
            raw.warm_workers,
            0,
            default.warm_workers,
        )?,
    })
}

fn execution_modes() -> [(&'static str, ExecutionMode); 3] {
    ExecutionMode::ALL.map(|mode| (mode.as_str(), mode))
}

/// The engine itself takes a few megabytes, and no program that joins results needs half a
/// gigabyte.
fn parse_memory(
    section: &Section,
    value: Option<Spanned<i64>>,
    default: usize,
) -> Result<usize, Fault> {
    if let Some(value) = &value
        && *value.get_ref() > 512
    {
        let found = value.get_ref().to_string();
        return Err(section.fault_at(
            "memory_mb",
            value,
            Problem::OutOfRange { found, most: "512" },
        ));
    }
    section.parse_number("memory_mb", value, 16, default)
}

fn parse_surfaces(section: &Section, names: &Texts) -> Result<Vec<Surface>, Fault> {
    let surfaces = names
        .iter()
        .map(|name| parse_surface(section, "surfaces", name));
    surfaces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{check, config};

    #[test]
    fn a_program_has_limits_that_can_be_kept() {
        let text = "[code]\nsurfaces = ['code', 'search']\ntimeout = '5s'\nmemory_mb = 64";
        let code = config(text).unwrap().code;
        assert_eq!(code.surfaces, [Surface::Code, Surface::Search]);
        assert_eq!((code.timeout.as_secs(), code.memory_mb), (5, 64));
        check(
            "[code]\nmemory_mb = 4096",
            "line 2, in `code.memory_mb`: expected a number between 0 and 512, found 4096",
        );
        for zero in ["0", "'0'", "'0s'"] {
            let code = config(&format!("[code]\ncache = {zero}")).unwrap().code;
            assert!(code.cache.is_zero(), "{zero} switches the cache off");
        }
        check(
            "[code]\nisolation = 'none'",
            "line 2, in `code.isolation`: `none` is not one of `required`, `best_effort`",
        );
    }
}
