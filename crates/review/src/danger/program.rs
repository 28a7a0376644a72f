//! Programs that take another program as an argument, or run with other rights.

use super::{Danger, option, program_name};
use crate::danger::variable;

/// Programs that run the text of one of their options.
struct Interpreter {
    names: &'static [&'static str],
    /// Letters of options with one dash, which may stand together.
    short: &'static str,
    /// Options written out, however many dashes they have.
    long: &'static [&'static str],
    /// Options that take no value, so that the word behind them is not their value.
    alone: &'static [&'static str],
    reason: &'static str,
}

const SHELL: &str = "a shell runs the next word as a program";
const CODE: &str = "runs the next word as a program";

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &[
            "sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash", "nu", "rbash", "csh", "tcsh",
        ],
        short: "cC",
        long: &[
            "--command",
            "--commands",
            "--init-command",
            "--rcfile",
            "--init-file",
        ],
        alone: &[
            "-l",
            "-i",
            "-e",
            "-x",
            "-u",
            "--login",
            "--norc",
            "--noprofile",
        ],
        reason: SHELL,
    },
    Interpreter {
        names: &["npx", "npm", "pnpm", "pnpx", "yarn"],
        short: "c",
        long: &["--call", "--shell-mode"],
        alone: &[
            "-y",
            "--yes",
            "-q",
            "--quiet",
            "-s",
            "--silent",
            "--no",
            "--no-install",
            "--offline",
            "--prefer-offline",
        ],
        reason: SHELL,
    },
    Interpreter {
        names: &["node", "nodejs", "tsx", "ts-node", "bun", "bunx"],
        short: "epr",
        long: &[
            "--eval",
            "--print",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "--preload",
            "--inspect",
            "--inspect-brk",
            "--env-file",
        ],
        alone: &["--no-warnings", "--enable-source-maps"],
        reason: "runs or loads what the next word says",
    },
    Interpreter {
        names: &["python", "pythonw", "pypy", "ipython", "py", "jython"],
        short: "c",
        long: &[],
        alone: &[
            "-u", "-s", "-S", "-E", "-I", "-B", "-O", "-OO", "-q", "-v", "-b", "-d", "-P",
        ],
        reason: CODE,
    },
    Interpreter {
        names: &["perl"],
        short: "eEMmI",
        long: &[],
        alone: &["-w"],
        reason: CODE,
    },
    Interpreter {
        names: &["ruby", "irb"],
        short: "erI",
        long: &["--require"],
        alone: &["-w"],
        reason: CODE,
    },
    Interpreter {
        names: &["php"],
        short: "rBREd",
        long: &[
            "--run",
            "--process-begin",
            "--process-code",
            "--process-end",
            "--define",
        ],
        alone: &[],
        reason: CODE,
    },
    Interpreter {
        names: &[
            "lua",
            "luajit",
            "rscript",
            "r",
            "julia",
            "osascript",
            "elixir",
            "ghc",
            "groovy",
            "scala",
            "guile",
            "expect",
        ],
        short: "eElc",
        long: &["--eval", "--print", "--load"],
        alone: &[],
        reason: CODE,
    },
    Interpreter {
        names: &[
            "vi", "vim", "nvim", "emacs", "gdb", "lldb", "sbcl", "erl", "swipl", "psql", "sqlite",
            "script", "flock", "su",
        ],
        short: "cSgx",
        long: &[
            "--eval",
            "--cmd",
            "-cmd",
            "--command",
            "-ex",
            "-eval",
            "--batch",
        ],
        alone: &[],
        reason: CODE,
    },
    Interpreter {
        names: &["env"],
        short: "S",
        long: &["--split-string"],
        alone: &["-i"],
        reason: CODE,
    },
    Interpreter {
        names: &["git", "ssh", "nc", "ncat", "tar"],
        short: "ceoI",
        long: &[
            "--exec",
            "--sh-exec",
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--upload-pack",
        ],
        alone: &[],
        reason: "can be told to run a program this way",
    },
    Interpreter {
        names: &["java"],
        short: "",
        long: &["-javaagent", "-agentlib", "-agentpath"],
        alone: &[],
        reason: "loads what the next word says",
    },
];

/// Programs that need no option to run another one from a text.
const ALWAYS: &[(&[&str], &str)] = &[
    (
        &[
            "sudo", "doas", "pkexec", "runuser", "gsudo", "nsenter", "chroot", "unshare",
        ],
        "runs with the rights of another user",
    ),
    (
        &[
            "awk",
            "gawk",
            "mawk",
            "nawk",
            "socat",
            "systemd-run",
            "at",
            "crontab",
        ],
        "runs programs from a text",
    ),
    (
        &["xargs", "parallel"],
        "runs programs with words that are not shown here",
    ),
];

/// Words that mean a program only together: the program, then one of these.
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("deno", &["eval", "repl"]),
    ("cmd", &["/c", "/k", "/r"]),
    ("find", &["-exec", "-execdir", "-ok", "-okdir"]),
];

pub(super) fn dangers(words: &[String]) -> Vec<Danger> {
    let mut found = Vec::new();
    // A program may be launched by another, as by `env`, `timeout` or `uv run`.
    for (at, word) in words.iter().enumerate() {
        let name = program_name(word);
        let rest = &words[at + 1..];
        // A word is a program if it is the first, or if nothing but a launcher stands before it.
        if at > 0 && !is_launched(&words[..at]) {
            break;
        }
        found.extend(
            INTERPRETERS
                .iter()
                .filter(|it| it.names.contains(&name.as_str()))
                .filter_map(|it| it.told(&name, rest)),
        );
        found.extend(
            ALWAYS
                .iter()
                .filter(|(names, _)| names.contains(&name.as_str()))
                .map(|(_, why)| Danger::new(&name, why)),
        );
        found.extend(subcommand(&name, rest));
        found.extend(powershell(&name, rest));
    }
    found.extend(set_by_word(words));
    found
}

impl Interpreter {
    fn told(&self, name: &str, rest: &[String]) -> Option<Danger> {
        let own = own_words(rest, self.alone);
        let flag = own.iter().find_map(|word| {
            let (flag, _) = option(word)?;
            self.takes(flag).then_some(flag)
        })?;
        Some(Danger::new(&format!("{name} {flag}"), self.reason))
    }

    fn takes(&self, flag: &str) -> bool {
        /// The number of letters that must be there: some programs take the beginning of an option
        /// for the whole.
        const AT_LEAST: usize = 5;
        let long =
            |known: &&str| *known == flag || (flag.len() >= AT_LEAST && known.starts_with(flag));
        let letters = flag
            .strip_prefix('-')
            .filter(|letters| !letters.starts_with('-'))
            .unwrap_or_default();
        self.long.iter().any(long) || letters.contains(|c| self.short.contains(c))
    }
}

/// Returns the words that a program may take for its own: everything up to the first that is
/// neither an option nor can be the value of one.
pub(super) fn own_words<'a>(rest: &'a [String], alone: &[&str]) -> &'a [String] {
    let mut may_be_value = false;
    for (at, word) in rest.iter().enumerate() {
        match option(word) {
            _ if word == "--" => return &rest[..at],
            // A module is the program; the words behind it are the module's.
            Some(("-m", None)) => return &rest[..at],
            Some((flag, value)) => may_be_value = value.is_none() && !alone.contains(&flag),
            None if word.starts_with('+') => may_be_value = true,
            None if may_be_value || SUBVERBS.contains(&word.as_str()) => may_be_value = false,
            None => return &rest[..at],
        }
    }
    rest
}

/// Verbs of runners, behind which their options go on.
pub(super) const SUBVERBS: [&str; 6] = ["exec", "x", "dlx", "run", "tool", "create"];

/// True if the words before a word only launch it.
fn is_launched(before: &[String]) -> bool {
    const LAUNCHERS: [&str; 44] = [
        "env",
        "sudo",
        "doas",
        "nice",
        "nohup",
        "timeout",
        "setsid",
        "stdbuf",
        "ionice",
        "time",
        "busybox",
        "toybox",
        "xargs",
        "exec",
        "command",
        "unshare",
        "chroot",
        "nsenter",
        "cross-env",
        "dotenv",
        "strace",
        "npx",
        "npm",
        "pnpm",
        "pnpx",
        "yarn",
        "bun",
        "bunx",
        "uv",
        "uvx",
        "pipx",
        "deno",
        "mise",
        "asdf",
        "nix",
        "nix-shell",
        "direnv",
        "conda",
        "poetry",
        "pipenv",
        "hatch",
        "wsl",
        "firejail",
        "bwrap",
    ];
    before
        .first()
        .is_some_and(|first| LAUNCHERS.contains(&program_name(first).as_str()))
}

fn subcommand(name: &str, rest: &[String]) -> Option<Danger> {
    let (_, verbs) = SUBCOMMANDS.iter().find(|(program, _)| *program == name)?;
    let verb = rest
        .iter()
        .find(|word| verbs.contains(&word.to_lowercase().as_str()))?;
    Some(Danger::new(&format!("{name} {verb}"), CODE))
}

/// Finds a program that obeys files of the folder in which it is started.
pub(super) fn of_project(words: &[String]) -> Option<Danger> {
    const REASON: &str = "does what files of the project say";
    const ALWAYS: [&str; 18] = [
        "make",
        "just",
        "task",
        "rake",
        "gradle",
        "gradlew",
        "mvn",
        "cargo",
        "go",
        "poetry",
        "pdm",
        "hatch",
        "pipenv",
        "dotnet",
        "bundle",
        "composer",
        "mix",
        "docker-compose",
    ];
    const VERBS: [&str; 7] = [
        "run",
        "start",
        "test",
        "task",
        "run-script",
        "compose",
        "dev",
    ];
    let (first, rest) = words.split_first()?;
    let name = program_name(first);
    if ALWAYS.contains(&name.as_str()) {
        return Some(Danger::new(&name, REASON));
    }
    let verb = rest.iter().find(|word| option(word).is_none())?;
    let scripts = matches!(
        name.as_str(),
        "npm" | "pnpm" | "yarn" | "bun" | "deno" | "uv"
    );
    let runs =
        (scripts && VERBS.contains(&verb.as_str())) || (name == "docker" && verb == "compose");
    runs.then(|| Danger::new(&format!("{name} {verb}"), REASON))
}

/// Options of PowerShell may be cut short anywhere, and have one dash.
fn powershell(name: &str, rest: &[String]) -> Option<Danger> {
    if !matches!(name, "pwsh" | "powershell") {
        return None;
    }
    let runs = |word: &&String| {
        let flag = word.to_lowercase();
        let flag = flag.trim_start_matches(['-', '/']);
        !flag.is_empty()
            && word.starts_with(['-', '/'])
            && ["command", "encodedcommand", "ec", "enc"]
                .iter()
                .any(|it| it.starts_with(flag))
    };
    rest.iter()
        .find(runs)
        .map(|flag| Danger::new(&format!("{name} {flag}"), SHELL))
}

/// `env NAME=value program` sets variables, too.
fn set_by_word(words: &[String]) -> Vec<Danger> {
    if !is_launched(words) {
        return Vec::new();
    }
    let named = words.iter().filter_map(|word| word.split_once('='));
    named
        .filter_map(|(name, _)| variable::danger(name))
        .collect()
}
