//! Measures the shape of the code: how large its parts are, how dense, and how they hang together.
//!
//! Only production code is measured. What is compiled for tests alone is cut out before anything
//! is counted, and the crates that serve tests, chores and benchmarks are shown but not summed up.
//!
//! # Layout
//! - [`command`]: the options of `cargo xtask shape`
//! - [`source`]: finds the production files of each crate and parses them
//! - [`functions`]: functions, their sizes and parameters, and named local closures
//! - [`names`]: type names that mean more than one type
//! - [`prose`]: comments without a subject, and words that name no actor
//! - [`modules`]: the knot of modules of the gateway, and where it loads the catalog
//! - [`hops`]: the way from the HTTP door to the pipeline, as ARCHITECTURE.md lists it
//! - [`goals`]: the figures that have a goal, and those that must not be missed again
//! - [`report`]: the tables and the JSON form
//! - [`spread`]: median and percentiles

pub mod command;
pub mod functions;
pub mod goals;
pub mod hops;
pub mod modules;
pub mod names;
pub mod prose;
pub mod report;
pub mod source;
pub mod spread;

use std::path::Path;

use self::functions::Functions;
use self::hops::Hop;
use self::modules::Knot;
use self::names::SharedName;
use self::prose::Prose;
use self::source::SourceFile;
use self::spread::Spread;

/// The figures of a whole checkout.
#[derive(Debug)]
pub struct Shape {
    /// One row for each crate, the largest first.
    pub crates: Vec<CrateShape>,
    /// The sum of the crates that are production code.
    pub production: CrateShape,
    pub knot: Knot,
    /// The places on the request path that load the catalog, as `path:line`.
    pub catalog_loads: Vec<String>,
    pub type_names: usize,
    pub shared_names: Vec<SharedName>,
    /// `None` where ARCHITECTURE.md does not list the hops.
    pub hops: Option<Vec<Hop>>,
}

/// The figures of one crate, or of all of them together.
#[derive(Debug)]
pub struct CrateShape {
    pub name: String,
    pub is_production: bool,
    pub lines: usize,
    pub files: Spread,
    pub functions: Functions,
    pub prose: Prose,
}

impl Shape {
    /// The share of all production lines that the largest crate has, in percent.
    #[must_use]
    pub fn largest_share(&self) -> f64 {
        self.crates
            .iter()
            .filter(|found| found.is_production)
            .map(|found| self.share(found))
            .fold(0.0, f64::max)
    }

    /// The share of all production lines that one crate has, in percent.
    #[must_use]
    pub fn share(&self, found: &CrateShape) -> f64 {
        percent(found.lines, self.production.lines)
    }

    /// The share of all type names that mean more than one type, in percent.
    #[must_use]
    pub fn shared_names_share(&self) -> f64 {
        percent(self.shared_names.len(), self.type_names)
    }
}

impl CrateShape {
    fn of(name: &str, is_production: bool, files: &[&SourceFile]) -> Self {
        let lines: Vec<usize> = files.iter().map(|file| file.lines.len()).collect();
        Self {
            name: name.to_owned(),
            is_production,
            lines: lines.iter().sum(),
            files: Spread::of(lines),
            functions: Functions::of(files),
            prose: Prose::of(files),
        }
    }

    /// Named local closures for each thousand lines.
    #[must_use]
    pub fn closures_per_thousand(&self) -> f64 {
        per_thousand(self.functions.named_closures, self.lines)
    }
}

/// Measures the checkout in a folder.
pub fn measure(root: &Path) -> anyhow::Result<Shape> {
    let packages = source::packages(root)?;
    let mut crates: Vec<CrateShape> = Vec::new();
    let mut production = Vec::new();
    for package in &packages {
        let files: Vec<&SourceFile> = package.files.iter().collect();
        crates.push(CrateShape::of(&package.name, package.is_production, &files));
        if package.is_production {
            production.extend(files);
        }
    }
    crates.sort_by_key(|found| (!found.is_production, std::cmp::Reverse(found.lines)));
    let gateway: Vec<&SourceFile> = packages
        .iter()
        .filter(|package| package.name == modules::CRATE)
        .flat_map(|package| &package.files)
        .collect();
    let defined = names::defined(&production);
    Ok(Shape {
        crates,
        production: CrateShape::of("all production", true, &production),
        knot: modules::knot(&gateway),
        catalog_loads: modules::catalog_loads(&gateway),
        type_names: defined.len(),
        shared_names: names::shared(defined),
        hops: hops::listed(root)?,
    })
}

fn percent(part: usize, whole: usize) -> f64 {
    match whole {
        0 => 0.0,
        _ => 100.0 * part as f64 / whole as f64,
    }
}

fn per_thousand(part: usize, whole: usize) -> f64 {
    10.0 * percent(part, whole)
}
