//! The options of `cargo xtask dist`.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use xtask::repository::Repository;

use super::target::{SHIPPED, Target};

#[derive(Debug)]
pub(super) struct Options {
    pub(super) targets: Vec<Target>,
    /// A binary that was built before, for the only target.
    pub(super) binary: Option<PathBuf>,
    pub(super) out: PathBuf,
    /// The folder on the web that the packages will be in.
    pub(super) url: Option<String>,
    /// None means all.
    kinds: Vec<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Archive,
    Deb,
    Wheel,
    Npm,
    Formula,
    Image,
    Sbom,
}

impl Options {
    pub(super) fn parse(repository: &Repository, words: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            targets: Vec::new(),
            binary: None,
            out: repository.packages(),
            url: None,
            kinds: Vec::new(),
        };
        for pair in words.chunks(2) {
            let [option, value] = *pair else {
                bail!("`{}` needs a value", pair[0]);
            };
            match option {
                "--target" => options.targets.push(Target::from_triple(value)?),
                "--binary" => options.binary = Some(absolute(value)?),
                "--out" => options.out = absolute(value)?,
                "--url" => options.url = Some(value.trim_end_matches('/').to_owned()),
                "--only" => options.kinds.push(Kind::from_name(value)?),
                _ => bail!("`cargo xtask dist` has no option `{option}`"),
            }
        }
        if options.targets.is_empty() {
            let shipped = SHIPPED.iter().map(|triple| Target::from_triple(triple));
            options.targets = shipped.collect::<anyhow::Result<_>>()?;
        }
        options.check_targets()?;
        Ok(options)
    }

    fn check_targets(&self) -> anyhow::Result<()> {
        if self.binary.is_some() && self.targets.len() != 1 {
            bail!("a binary is for one target: add `--target TRIPLE` once");
        }
        for (number, target) in self.targets.iter().enumerate() {
            let same = |other: &Target| other.architecture == target.architecture;
            if self.targets[..number].iter().any(same) {
                bail!("two targets have packages of the same name; make them one by one");
            }
        }
        Ok(())
    }

    pub(super) fn needs_binaries(&self) -> bool {
        let without = [Kind::Image, Kind::Sbom];
        self.kinds.is_empty() || self.kinds.iter().any(|kind| !without.contains(kind))
    }

    pub(super) fn wants(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

impl Kind {
    const ALL: [(&str, Self); 7] = [
        ("archive", Self::Archive),
        ("deb", Self::Deb),
        ("wheel", Self::Wheel),
        ("npm", Self::Npm),
        ("formula", Self::Formula),
        ("image", Self::Image),
        ("sbom", Self::Sbom),
    ];

    fn from_name(name: &str) -> anyhow::Result<Self> {
        let found = Self::ALL.into_iter().find(|(it, _)| *it == name);
        found.map(|(_, kind)| kind).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            anyhow!("`{name}` is not a kind of package; the kinds are {names}")
        })
    }
}

fn absolute(path: &str) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("resolving {path}"))
}
