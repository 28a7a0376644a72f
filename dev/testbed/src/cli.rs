//! The flags: the era of the protocol, the transport, and the misbehaviour.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use kitbag_wire::Era;

/// A real MCP server for the tests, with the behaviour and the misbehaviour that they need.
#[derive(Debug, Parser)]
pub(crate) struct TestbedArguments {
    /// The era of the protocol to speak.
    #[arg(long, value_enum, default_value_t = Served::Dual)]
    pub(crate) era: Served,
    /// A way to misbehave; may be given more than once.
    #[arg(long = "manner", value_enum, value_name = "MISBEHAVIOUR")]
    pub(crate) misbehaviours: Vec<Misbehaviour>,
    /// The folder for the files that a test reads, such as `events.log`.
    #[arg(long, value_name = "PATH")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Over HTTP, be many servers at once, `/NAME/mcp` each, with the tools of this file:
    /// one `{"server", "tool", "answer", "takes_ms"}` a line, the tool as `tools/list` gives it, the
    /// JSON value that a call is answered with, and the time that it takes. Without an answer, a
    /// call repeats its arguments.
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
        /// Zero picks a free port.
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    /// Serve the HTTP+SSE transport of 2024-11-05 at `/sse`.
    Sse {
        /// Zero picks a free port.
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    /// Print the exact result of the `exotic` tool.
    PrintExotic,
    /// Print the exact definition of the `exotic_definition` tool.
    PrintDefinition,
}

/// The eras that the server speaks.
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

/// Misbehaviour that real servers have shown, or that a hostile one could.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Misbehaviour {
    /// Text and foreign JSON on stdout before and between messages.
    Noise,
    /// A request and a notification named `log` right after the greeting.
    OddMessages,
    /// Asks for the roots at once and holds `tools/list` back until it has them.
    EarlyRoots,
    /// Advertises resources and prompts, refuses the one and never answers the other.
    Lie,
    /// Three seconds before anything is read; with a data folder, as long as no file `start` is in it.
    SlowStart,
    /// Complains about a missing variable and exits with 1.
    CrashAtStart,
    /// Lists one tool twice.
    DuplicateNames,
    /// Leaves a process behind, in a session of its own.
    Detach,
    /// Does not end when stdin closes.
    IgnoreStdinClose,
    /// Does not end when stdin closes, nor on SIGTERM.
    IgnoreTerm,
    /// `tools/list` always has one more page, the same one.
    EndlessCursor,
    /// Reads everything, answers nothing.
    Hang,
    /// From the first call on, reads everything and answers nothing on that connection. Connections
    /// made later work as soon as there is a file `cured` in the data folder.
    Deaf,
    /// Over HTTP: as long as there is a file `hold-off` in the data folder, with a status and a
    /// `Retry-After` such as `429 30`, every request is answered with them.
    HoldOff,
    /// Does not answer methods it does not know before `initialize`.
    NoDiscoverAnswer,
    /// Offers `change_tools`, which makes the list of tools grow.
    ChangeTools,
    /// Lists come in pages of two.
    Paginate,
    /// Offers `job`, which goes on after its call was answered.
    Jobs,
    /// Asks for the roots when it is greeted and when they change, and offers `known_roots`.
    RememberRoots,
    /// Sends pings without end once it is greeted, and reads nothing any more.
    FloodPings,
    /// Leaves a process behind, in a session of its own, without a parent or a variable.
    DetachBare,
    /// Claims the resources of other servers: lists theirs, has templates that match every URI, and
    /// answers every read with `usurped`.
    Usurp,
    /// Serves skills beside the rest.
    Skills,
    /// Offers `turncoat`, which says that it only reads until it is called.
    Redefine,
    /// Lists the tools and prompts of `edited.json` in its data folder, too, as the file is at that
    /// moment, and answers for every name.
    Edited,
    /// A million small tools, in forty pages.
    ManyTools,
    /// A hundred thousand resource templates in one answer.
    ManyTemplates,
    /// A definition and an answer that are nested a hundred thousand levels deep.
    Deep,
    /// Over stdio: after the greeting, one line that never ends.
    EndlessLine,
    /// Over stdio: after the greeting, messages without end that the client did not ask for.
    MessageFlood,
    /// Over stdio: after the greeting, one byte a second.
    SlowBytes,
    /// Fills stderr without end.
    StderrFlood,
}
