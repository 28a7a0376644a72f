//! The command that installs a missing launcher on this machine.

use crate::programs::find_on_path;

/// Programs that install others, and what to run with them. The first that is here is used.
type Installs = &'static [(&'static str, &'static str)];

const NODE: Installs = &[
    ("brew", "brew install node"),
    ("apk", "apk add nodejs npm"),
    ("dnf", "sudo dnf install nodejs"),
    ("pacman", "sudo pacman -S nodejs npm"),
    // Debian's own package is older than servers require.
    (
        "apt-get",
        "curl -fsSL https://deb.nodesource.com/setup_22.x | sudo bash && sudo apt-get install nodejs",
    ),
];
const UV: Installs = &[
    ("brew", "brew install uv"),
    ("curl", "curl -LsSf https://astral.sh/uv/install.sh | sh"),
    ("wget", "wget -qO- https://astral.sh/uv/install.sh | sh"),
    ("pipx", "pipx install uv"),
    ("pip", "pip install --user uv"),
];
const BUN: Installs = &[
    ("brew", "brew install oven-sh/bun/bun"),
    ("curl", "curl -fsSL https://bun.sh/install | bash"),
    ("npm", "npm install --global bun"),
];

/// Returns how to install a launcher, in one command if an installer is here.
pub(super) fn install_advice(launcher: &str) -> Option<String> {
    advise(launcher, |installer| find_on_path(installer).is_some())
}

fn advise(launcher: &str, is_here: impl Fn(&str) -> bool) -> Option<String> {
    let (installs, page): (Installs, _) = match launcher {
        "node" | "npx" | "npm" => (NODE, "https://nodejs.org"),
        "uv" | "uvx" => (UV, "https://docs.astral.sh/uv"),
        "bun" | "bunx" => (BUN, "https://bun.sh"),
        "docker" => (&[], "https://docs.docker.com/get-docker"),
        _ => return None,
    };
    let install = installs.iter().find(|(installer, _)| is_here(installer));
    Some(match install {
        Some((_, command)) => format!("install it: `{command}`"),
        None => format!("get it from {page}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_is_a_command_that_works_here() {
        let check = |launcher: &str, here: &[&str], expected: Option<&str>| {
            let advice = advise(launcher, |installer| here.contains(&installer));
            assert_eq!(advice.as_deref(), expected);
        };
        let uv = "install it: `curl -LsSf https://astral.sh/uv/install.sh | sh`";
        check("uvx", &["curl", "pip"], Some(uv));
        check(
            "npx",
            &["apk", "curl"],
            Some("install it: `apk add nodejs npm`"),
        );
        check(
            "bunx",
            &["npm"],
            Some("install it: `npm install --global bun`"),
        );
        check("npx", &[], Some("get it from https://nodejs.org"));
        check("notes", &["curl"], None);
    }
}
