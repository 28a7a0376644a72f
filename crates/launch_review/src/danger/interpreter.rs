//! Programs that run the text of one of their options, such as `sh -c`.

use super::{Danger, option};

/// Programs that run the text of one of their options.
struct Interpreter {
    names: &'static [&'static str],
    /// Letters of single-dash options, which may be combined.
    short: &'static str,
    /// Long options, with any number of dashes.
    long: &'static [&'static str],
    /// Options that take no value, so the next word is not their value.
    switches: &'static [&'static str],
    reason: &'static str,
}

pub(super) const SHELL: &str = "a shell runs the next word as a program";
pub(super) const CODE: &str = "runs the next word as a program";

/// Returns the options with which a program, named without its folder, runs the text of a word.
pub(super) fn dangers(name: &str, rest: &[String]) -> impl Iterator<Item = Danger> {
    let known = INTERPRETERS
        .iter()
        .filter(move |it| it.names.contains(&name));
    known.filter_map(move |it| it.find_danger(name, rest))
}

impl Interpreter {
    fn find_danger(&self, name: &str, rest: &[String]) -> Option<Danger> {
        let own = own_words(rest, self.switches).iter();
        let mut flags = own.filter_map(|word| option(word)).map(|(flag, _)| flag);
        let flag = flags.find(|flag| self.accepts_flag(flag))?;
        Some(Danger::new(&format!("{name} {flag}"), self.reason))
    }

    fn accepts_flag(&self, flag: &str) -> bool {
        self.long.iter().any(|known| is_long(known, flag))
            || letters(flag).contains(|c| self.short.contains(c))
    }
}

/// True if the flag is a known option, or a prefix of one: some programs accept prefixes.
fn is_long(known: &str, flag: &str) -> bool {
    /// The minimum length of a prefix.
    const MIN_PREFIX: usize = 5;
    known == flag || (flag.len() >= MIN_PREFIX && known.starts_with(flag))
}

/// Returns the letters after a single dash.
fn letters(flag: &str) -> &str {
    match flag.strip_prefix('-') {
        Some(letters) if !letters.starts_with('-') => letters,
        _ => "",
    }
}

/// Returns the words that a program may take as its own: everything before the first word that is
/// neither an option nor a possible value of one.
pub(super) fn own_words<'a>(rest: &'a [String], switches: &[&str]) -> &'a [String] {
    let mut may_be_value = false;
    for (at, word) in rest.iter().enumerate() {
        match option(word) {
            _ if word == "--" => return &rest[..at],
            // A module is the program; the words after it belong to the module.
            Some(("-m", None)) => return &rest[..at],
            Some((flag, value)) => may_be_value = value.is_none() && !switches.contains(&flag),
            None if word.starts_with('+') => may_be_value = true,
            None if may_be_value || SUBVERBS.contains(&word.as_str()) => may_be_value = false,
            None => return &rest[..at],
        }
    }
    rest
}

/// Verbs of runners, after which their options continue.
pub(super) const SUBVERBS: [&str; 6] = ["exec", "x", "dlx", "run", "tool", "create"];

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
        switches: &[
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
        switches: &[
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
        switches: &["--no-warnings", "--enable-source-maps"],
        reason: "runs or loads the next word",
    },
    Interpreter {
        names: &["python", "pythonw", "pypy", "ipython", "py", "jython"],
        short: "c",
        long: &[],
        switches: &[
            "-u", "-s", "-S", "-E", "-I", "-B", "-O", "-OO", "-q", "-v", "-b", "-d", "-P",
        ],
        reason: CODE,
    },
    Interpreter {
        names: &["perl"],
        short: "eEMmI",
        long: &[],
        switches: &["-w"],
        reason: CODE,
    },
    Interpreter {
        names: &["ruby", "irb"],
        short: "erI",
        long: &["--require"],
        switches: &["-w"],
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
        switches: &[],
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
        switches: &[],
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
        switches: &[],
        reason: CODE,
    },
    Interpreter {
        names: &["env"],
        short: "S",
        long: &["--split-string"],
        switches: &["-i"],
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
        switches: &[],
        reason: "can run a program this way",
    },
    Interpreter {
        names: &["java"],
        short: "",
        long: &["-javaagent", "-agentlib", "-agentpath"],
        switches: &[],
        reason: "loads the next word",
    },
];
