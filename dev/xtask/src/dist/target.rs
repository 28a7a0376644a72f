//! The platforms that packages are made for, and their names in each kind of package.

use anyhow::Context;

/// With musl the standard library is in the binary, so that it runs on every Linux.
pub(super) const SHIPPED: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) triple: String,
    pub(super) architecture: &'static Architecture,
    is_static: bool,
}

/// The names of one architecture.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Architecture {
    rust: &'static str,
    pub(super) debian: &'static str,
    pub(super) npm: &'static str,
}

static ARCHITECTURES: [Architecture; 2] = [
    Architecture {
        rust: "x86_64",
        debian: "amd64",
        npm: "x64",
    },
    Architecture {
        rust: "aarch64",
        debian: "arm64",
        npm: "arm64",
    },
];

impl Target {
    pub(super) fn from_triple(triple: &str) -> anyhow::Result<Self> {
        let parse = || {
            let (name, libc) = triple.split_once("-unknown-linux-")?;
            let architecture = ARCHITECTURES.iter().find(|it| it.rust == name)?;
            ["musl", "gnu"].contains(&libc).then(|| Self {
                triple: triple.to_owned(),
                architecture,
                is_static: libc == "musl",
            })
        };
        let shipped = SHIPPED.join(" and ");
        parse().with_context(|| format!("`{triple}` has no packages; there are some for {shipped}"))
    }

    pub(super) fn runs_here(&self) -> bool {
        self.architecture.rust == std::env::consts::ARCH
    }

    /// Tags of [PEP 600](https://peps.python.org/pep-0600/) for a static binary, which needs no libc.
    pub(super) fn wheel_platforms(&self) -> Vec<String> {
        let platforms: &[&str] = match self.is_static {
            true => &["manylinux_2_17", "manylinux2014", "musllinux_1_1"],
            // A wheel for any other machine would have to name the oldest glibc that it runs on.
            false => &["linux"],
        };
        let architecture = self.architecture.rust;
        platforms
            .iter()
            .map(|platform| format!("{platform}_{architecture}"))
            .collect()
    }

    /// A line for the control file.
    pub(super) fn debian_dependencies(&self) -> &'static str {
        match self.is_static {
            true => "",
            false => "Depends: libc6, libgcc-s1\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SHIPPED, Target};

    #[test]
    fn a_static_binary_is_offered_to_every_libc_and_another_only_to_this_machine() {
        let tags = |triple| Target::from_triple(triple).map(|it| it.wheel_platforms().join("."));
        assert_eq!(
            tags(SHIPPED[1]).ok().as_deref(),
            Some("manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64")
        );
        assert_eq!(
            tags("x86_64-unknown-linux-gnu").ok().as_deref(),
            Some("linux_x86_64")
        );
    }

    #[test]
    fn platforms_without_packages_are_rejected() {
        for triple in ["x86_64-pc-windows-msvc", "x86_64-unknown-linux-gnux32", ""] {
            assert!(Target::from_triple(triple).is_err(), "{triple}");
        }
    }
}
