//! The platforms that packages are made for, and what each kind of package calls them.

use anyhow::bail;

/// The standard library is linked into the binary with musl, so that it runs on every Linux.
pub(super) const SHIPPED: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) triple: String,
    pub(super) architecture: Architecture,
    pub(super) is_static: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Architecture {
    X86_64,
    Aarch64,
}

impl Target {
    pub(super) fn from_triple(triple: &str) -> anyhow::Result<Self> {
        let (architecture, libc) = match triple.split_once("-unknown-linux-") {
            Some(("x86_64", libc)) => (Architecture::X86_64, libc),
            Some(("aarch64", libc)) => (Architecture::Aarch64, libc),
            _ => bail!("`{triple}` has no packages; there are some for {SHIPPED:?}"),
        };
        let is_static = match libc {
            "musl" => true,
            "gnu" => false,
            _ => bail!("`{triple}` has no packages; there are some for {SHIPPED:?}"),
        };
        Ok(Self {
            triple: triple.to_owned(),
            architecture,
            is_static,
        })
    }

    /// Tags of [PEP 600](https://peps.python.org/pep-0600/) for a static binary, which needs no libc.
    pub(super) fn wheel_platforms(&self) -> Vec<String> {
        let architecture = match self.architecture {
            Architecture::X86_64 => "x86_64",
            Architecture::Aarch64 => "aarch64",
        };
        let platforms: &[&str] = match self.is_static {
            true => &["manylinux_2_17", "manylinux2014", "musllinux_1_1"],
            // A wheel for any other machine would have to name the oldest glibc that it runs on.
            false => &["linux"],
        };
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

impl Architecture {
    pub(super) fn is_here(self) -> bool {
        match self {
            Self::X86_64 => cfg!(target_arch = "x86_64"),
            Self::Aarch64 => cfg!(target_arch = "aarch64"),
        }
    }

    pub(super) fn debian_name(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    pub(super) fn npm_name(self) -> &'static str {
        match self {
            Self::X86_64 => "x64",
            Self::Aarch64 => "arm64",
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
