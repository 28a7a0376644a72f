//! The servers that run in this process; started on their first call, like any other.

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt as _;
use kitbag_agents::{AgentAnswers, DataError, Embed, EmbedSide, Library};
use kitbag_config::Config;
use kitbag_domain::Remedy as _;
use kitbag_tool_server::serve;
use kitbag_upstream::{BuiltInError, BuiltInOpener};
use tokio::io::{duplex, split};

use kitbag_embedding::TextEmbedder;

/// The most bytes buffered in the pipe before the other end reads them.
const PIPE: usize = 64 * 1024;

/// Returns the opener of the configured built-in servers. The data is read at each start, so that
/// an edit takes effect without a restart of the process.
pub(crate) fn built_in_opener(config: &Config, embedder: Arc<TextEmbedder>) -> BuiltInOpener {
    let directory = config
        .agents
        .as_ref()
        .and_then(|agents| agents.directory.clone());
    BuiltInOpener::new(move |_| {
        let answers = agent_answers(directory.as_deref(), Some(embedder.clone()));
        let answers = answers.map_err(|error| BuiltInError {
            reason: error.to_string(),
            remedy: error.remedy(),
        })?;
        let (client_end, server_end) = duplex(PIPE);
        let (input, output) = split(server_end);
        tokio::spawn(serve(Arc::new(answers), input, output));
        Ok(client_end)
    })
}

/// Builds the part that answers questions about agents.
pub fn agent_answers(
    directory: Option<&Path>,
    embedder: Option<Arc<TextEmbedder>>,
) -> Result<AgentAnswers, DataError> {
    Ok(AgentAnswers::new(
        open_library(directory)?,
        embedder.map(embed_function),
    ))
}

/// Opens the library in a directory, or else the embedded one.
pub fn open_library(directory: Option<&Path>) -> Result<Library, DataError> {
    match directory {
        Some(directory) => Library::open(directory),
        None => Ok(Library::built_in()),
    }
}

fn embed_function(embedder: Arc<TextEmbedder>) -> Embed {
    Arc::new(move |side, texts| {
        let embedder = embedder.clone();
        let vectors = async move {
            let vectors = match side {
                EmbedSide::Query => embedder.embed_queries(texts).await,
                EmbedSide::Document => embedder.embed_documents(texts).await,
            };
            vectors
                .inspect_err(|error| tracing::debug!(%error, "searching without vectors"))
                .ok()
        };
        vectors.boxed()
    })
}
