//! The command line: protocol era, transport, and misbehaviour.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use kitbag_wire::Era;

/// A real MCP server for tests, with configurable misbehaviour
#[derive(Debug, Parser)]
pub(crate) struct TestbedArguments {
    /// Protocol era to support
    #[arg(long, value_enum, default_value_t = Served::Dual)]
    pub(crate) era: Served,
    /// Misbehaviour to enable; may be repeated
    #[arg(long = "manner", value_enum, value_name = "MISBEHAVIOUR")]
    pub(crate) misbehaviours: Vec<Misbehaviour>,
    /// Directory for files read by tests, such as `events.log`
    #[arg(long, value_name = "PATH")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Over HTTP, act as many servers, each at `/NAME/mcp`, with the tools of this file: one
    /// `{"server", "tool", "answer", "takes_ms"}` per line, with the tool as in `tools/list`, the
    /// JSON answer of a call, and its duration. Without an answer, a call repeats its arguments.
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Command {
    /// Serve one client over stdin and stdout.
    Stdio,
    /// Serve streamable HTTP at `/mcp`.
    Http {
        /// Port to listen on; 0 picks a free one
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    /// Serve the HTTP+SSE transport of 2024-11-05 at `/sse`.
    Sse {
        /// Port to listen on; 0 picks a free one
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    /// Print the exact result of the `exotic` tool.
    PrintExotic,
    /// Print the exact definition of the `exotic_definition` tool.
    PrintDefinition,
}

/// The eras that the server supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Served {
    Legacy,
    Modern,
    Dual,
}

impl Served {
    pub(crate) fn speaks(self, era: Era) -> bool {
        match self {
            Self::Legacy => era == Era::Legacy,
            Self::Modern => era == Era::Modern,
            Self::Dual => true,
        }
    }
}

/// Misbehaviour that real servers have shown, or that a hostile one could show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Misbehaviour {
    /// Prints text and foreign JSON on stdout before and between messages.
    Noise,
    /// Sends a request and a notification named `log` right after the handshake.
    OddMessages,
    /// Asks for the roots at once and delays `tools/list` until it has them.
    EarlyRoots,
    /// Advertises resources and prompts, rejects the former and never answers the latter.
    Lie,
    /// Reads nothing for three seconds; with a data directory, until it contains a file `start`.
    SlowStart,
    /// Complains about a missing variable and exits with 1.
    CrashAtStart,
    /// Lists one tool twice.
    DuplicateNames,
    /// Leaves a process behind, in its own session.
    Detach,
    /// Does not end when stdin closes.
    IgnoreStdinClose,
    /// Does not end when stdin closes, nor on SIGTERM.
    IgnoreTerm,
    /// `tools/list` always has one more page, the same one.
    EndlessCursor,
    /// Reads everything, answers nothing.
    Hang,
    /// From the first call on, reads everything and answers nothing on that connection. Later
    /// connections work as soon as there is a file `cured` in the data directory.
    Deaf,
    /// Over HTTP: while the data directory has a file `hold-off` with a status and a `Retry-After`,
    /// such as `429 30`, answers every request with them.
    HoldOff,
    /// Does not answer unknown methods before `initialize`.
    NoDiscoverAnswer,
    /// Offers `change_tools`, which makes the list of tools grow.
    ChangeTools,
    /// Splits lists into pages of two entries.
    Paginate,
    /// Offers `job`, which continues after its call was answered.
    Jobs,
    /// Asks for the roots after the handshake and when they change, and offers `known_roots`.
    RememberRoots,
    /// Sends endless pings after the handshake, and stops reading.
    FloodPings,
    /// Leaves a process behind, in its own session, without a parent or a variable.
    DetachBare,
    /// Claims the resources of other servers: lists them, has templates that match every URI, and
    /// answers every read with `usurped`.
    Usurp,
    /// Serves skills, too.
    Skills,
    /// Offers `turncoat`, which claims to be read-only until it is called.
    Redefine,
    /// Also lists the tools, prompts, resources, templates and skills of `edited.json` in its data
    /// directory, as the file is at that moment, and answers for every name and `note:` URI.
    Edited,
    /// Writes script, markup, terminal escapes and invisible characters to stderr, and answers for
    /// every name with them: as a result, or as `fails` says, as an `error` or a `fault`.
    Markup,
    /// Lists a million small tools, in forty pages.
    ManyTools,
    /// Lists a hundred thousand resource templates in one answer.
    ManyTemplates,
    /// Has a definition and an answer that are nested a hundred thousand levels deep.
    Deep,
    /// Over stdio: after the handshake, sends one endless line.
    EndlessLine,
    /// Over stdio: after the handshake, sends endless unsolicited messages.
    MessageFlood,
    /// Over stdio: after the handshake, sends one byte per second.
    SlowBytes,
    /// Fills stderr without end.
    StderrFlood,
}
