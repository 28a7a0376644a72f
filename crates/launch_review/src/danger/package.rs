//! Packages that do not come from the usual registries.

use super::interpreter::{SUBVERBS, own_words};
use super::{Danger, option, program_name};

const RUNNERS: [&str; 17] = [
    "npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "uv", "uvx", "pip", "pipx", "deno", "dnx",
    "dotnet", "go", "cargo", "gem",
];

/// Options that take no value.
const SWITCHES: [&str; 12] = [
    "-y",
    "--yes",
    "-q",
    "--quiet",
    "-s",
    "--silent",
    "--no-install",
    "--isolated",
    "--offline",
    "-A",
    "--no-cache",
    "--prerelease",
];

/// Options that set the source of packages, or how they are run.
const SOURCES: [&str; 30] = [
    "--index-url",
    "-i",
    "--extra-index-url",
    "--index",
    "--default-index",
    "--find-links",
    "-f",
    "--registry",
    "--userconfig",
    "--globalconfig",
    "--script-shell",
    "--node-options",
    "--prefix",
    "--config-file",
    "--configfile",
    "--with-editable",
    "--editable",
    "--allow-insecure-host",
    "--trusted-host",
    "--proxy",
    "--https-proxy",
    "--cafile",
    "--pip-args",
    "--add-source",
    "--source",
    "--import-map",
    "--allow-all",
    "-A",
    "--allow-run",
    "--strict-ssl",
];

/// The prefixes of a package that is an address, in lower case.
const PREFIXES: [&str; 12] = [
    "http://",
    "https://",
    "git+",
    "git:",
    "git@",
    "ssh:",
    "github:",
    "gitlab:",
    "bitbucket:",
    "gist:",
    "file:",
    "link:",
];
/// The start of an address after a package's name.
const INSIDE: [&str; 8] = [
    "@http:", "@https:", "@git+", "@github:", "@npm:", "@file:", " @ ", "@git:",
];
/// The extensions of a package that is a file.
const EXTENSIONS: [&str; 4] = [".tgz", ".tar.gz", ".whl", ".zip"];

/// Returns the dangers in the packages that a runner such as `npx` or `uvx` would fetch.
pub(super) fn dangers(words: &[String]) -> Vec<Danger> {
    let mut names = words.iter().map(|word| program_name(word));
    let Some(at) = names.position(|name| RUNNERS.contains(&name.as_str())) else {
        return Vec::new();
    };
    let (runner, rest) = (program_name(&words[at]), &words[at + 1..]);
    let own = own_words(rest, &SWITCHES);
    let package = rest[own.len()..].iter().find(|word| *word != "--");
    let mut found: Vec<_> = own.iter().filter_map(|word| source_danger(word)).collect();
    found.extend(
        own.iter()
            .chain(package)
            .filter_map(|word| package_danger(word)),
    );
    let short = package.filter(|word| is_short_for_github(&runner, word));
    found.extend(short.map(|word| Danger::new(word, ELSEWHERE)));
    found
}

const ELSEWHERE: &str = "a package from outside the registries";

fn source_danger(word: &str) -> Option<Danger> {
    let (flag, _) = option(word)?;
    SOURCES
        .contains(&flag)
        .then(|| Danger::new(flag, "changes where packages come from or what they may do"))
}

fn package_danger(word: &str) -> Option<Danger> {
    if SUBVERBS.contains(&word) {
        return None;
    }
    let value = option(word).map_or(Some(word), |(_, value)| value)?;
    is_elsewhere(&value.to_ascii_lowercase()).then(|| Danger::new(value, ELSEWHERE))
}

fn is_elsewhere(small: &str) -> bool {
    let is_file = EXTENSIONS.iter().any(|end| small.ends_with(end));
    let begins = PREFIXES.iter().any(|begin| small.starts_with(begin));
    is_file || begins || INSIDE.iter().any(|part| small.contains(part))
}

/// `owner/name` is a repository for the npm runners; a package has `@` before its owner.
fn is_short_for_github(runner: &str, word: &str) -> bool {
    let of_npm = matches!(
        runner,
        "npx" | "npm" | "pnpm" | "pnpx" | "yarn" | "bunx" | "bun"
    );
    let begins_plain = !word.starts_with(['@', '.', '/', '~', '-', '$']);
    of_npm && begins_plain && !word.contains(':') && word.contains('/')
}
