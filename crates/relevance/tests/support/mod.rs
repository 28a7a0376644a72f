//! The encoder that is built in, and tools with their vectors.

use std::sync::{Arc, LazyLock};

use kitbag_encoder::Encoder;
use kitbag_relevance::text::ToolText;
use kitbag_relevance::{Document, IndexedTool};

pub(crate) static ENCODER: LazyLock<Encoder> = LazyLock::new(|| {
    Encoder::from_container(include_bytes!("../../../embedding/kitbag-embedder.bin")).unwrap()
});

/// The tool of a server, which may have no name.
pub(crate) fn document(server: &str, name: &str, description: &str) -> Document {
    let text = ToolText {
        name,
        description,
        provider: server,
        ..ToolText::default()
    };
    let entry = IndexedTool {
        tool_name: match server {
            "" => name.to_owned(),
            _ => format!("{server}__{name}"),
        },
        provider: server.to_owned(),
        description: description.to_owned(),
        scopes: text.scopes(),
        tags: text.tags(),
        ..IndexedTool::default()
    };
    Document {
        entry: Arc::new(entry),
        name: name.to_owned(),
        parameters: Vec::new(),
        twin: None,
        vector: Some(ENCODER.embed(&text.document()).into()),
    }
}
