//! The built-in encoder, and embedded tools.

use std::sync::{Arc, LazyLock};

use kitbag_encoder::Encoder;
use kitbag_relevance::tool_text::ToolText;
use kitbag_relevance::{Document, IndexedTool};

pub(crate) static ENCODER: LazyLock<Encoder> = LazyLock::new(|| {
    Encoder::from_container(include_bytes!("../../../embedding/kitbag-embedder.bin")).unwrap()
});

/// A tool of a server; the server's name may be empty.
pub(crate) fn document(server: &str, name: &str, description: &str) -> Document {
    let text = ToolText {
        name,
        description,
        server,
        ..ToolText::default()
    };
    let entry = IndexedTool {
        tool_name: match server {
            "" => name.to_owned(),
            _ => format!("{server}__{name}"),
        },
        server: server.to_owned(),
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
        vector: Some(ENCODER.embed(&text.to_embedded_text()).into()),
    }
}
