//! The README and the documentation pages of the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The text of each document, by its path from the root: `README.md`, `docs/clients.md`.
pub fn documents() -> BTreeMap<String, String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = fs::read_dir(repository.join("docs")).expect("there is a guide");
    pages
        .map(|page| page.expect("the guide can be read").file_name())
        .map(|name| format!("docs/{}", name.to_string_lossy()))
        .filter(|path| path.ends_with(".md"))
        .chain(["README.md".to_owned()])
        .map(|path| {
            let text = fs::read_to_string(repository.join(&path)).expect("a document is text");
            (path, text)
        })
        .collect()
}
