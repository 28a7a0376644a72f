//! Vectors that come with the binary: of the words and the tools that are built in, made by the
//! model that is built in. Without them the first question about an agent would wait until some
//! hundreds of texts are embedded.
//!
//! The file is a table. First the length of a vector (two bytes, little-endian), then the rows:
//! eight bytes of the text's hash, four of a scale, and one signed byte for each number, to be
//! multiplied by the scale.

use std::collections::HashMap;
use std::sync::LazyLock;

const TABLE: &[u8] = include_bytes!("../../../../training/built-in-vectors.bin");
const HASH: usize = 8;
const SCALE: usize = 4;

/// The vector of a text that is built in.
pub(super) fn vector(text: &str) -> Option<Vec<f32>> {
    static ROWS: LazyLock<HashMap<[u8; HASH], &'static [u8]>> =
        LazyLock::new(|| rows(TABLE).collect());
    ROWS.get(&hash(text)).and_then(|row| unpacked(row))
}

fn rows(table: &'static [u8]) -> impl Iterator<Item = ([u8; HASH], &'static [u8])> {
    let (length, rows) = table
        .split_first_chunk()
        .map_or((0, table), |(length, rows)| {
            (usize::from(u16::from_le_bytes(*length)), rows)
        });
    rows.chunks_exact(HASH + SCALE + length)
        .filter_map(|row| row.split_first_chunk())
        .map(|(hash, row)| (*hash, row))
}

fn unpacked(row: &[u8]) -> Option<Vec<f32>> {
    let (scale, numbers) = row.split_first_chunk()?;
    let scale = f32::from_le_bytes(*scale);
    Some(
        numbers
            .iter()
            .map(|number| f32::from(number.cast_signed()) * scale)
            .collect(),
    )
}

fn hash(text: &str) -> [u8; HASH] {
    *blake3::hash(text.as_bytes())
        .as_bytes()
        .first_chunk()
        .expect("a hash has more bytes")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use kitbag_agents::{AgentTool, Library};
    use kitbag_domain::Timestamp;
    use kitbag_relevance::embed::Encoder;
    use kitbag_upstream::Listing;
    use kitbag_wire::{Era, raw};
    use serde_json::json;

    use super::super::local::built_in;
    use super::super::priors::Priors;
    use super::super::source;
    use super::*;
    use crate::catalog::Catalog;

    /// Set, this test writes the file instead of finding fault with it.
    const WRITE: &str = "KITBAG_WRITE_VECTORS";
    const PATH: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../training/built-in-vectors.bin"
    );

    /// Everything built in that is ever embedded.
    fn texts() -> BTreeSet<String> {
        let library = Library::built_in();
        let listing = Listing {
            era: Era::Modern,
            version: String::new(),
            capabilities: raw(&json!({ "tools": {} })),
            server_info: None,
            instructions: None,
            tools: AgentTool::ALL
                .iter()
                .map(|tool| raw(&tool.definition(&library)))
                .collect(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            problems: Vec::new(),
        };
        let server = "agents".parse().unwrap();
        let catalog = Catalog::build(BTreeMap::from([(server, Arc::new(listing))]));
        let sources = catalog.tools.iter().map(source::Tool::of);
        let tools = sources.map(|tool| tool.into_source(Priors::default(), Timestamp(0)).text);
        library.embedded_texts().into_iter().chain(tools).collect()
    }

    #[expect(clippy::cast_possible_truncation, reason = "it was scaled to fit")]
    fn row(text: &str, vector: &[f32]) -> Vec<u8> {
        let largest = vector
            .iter()
            .fold(f32::EPSILON, |most, it| most.max(it.abs()));
        let scale = largest / 127.0;
        let numbers = vector
            .iter()
            .map(|it| ((it / scale).round() as i8).cast_unsigned());
        hash(text)
            .into_iter()
            .chain(scale.to_le_bytes())
            .chain(numbers)
            .collect()
    }

    fn write(encoder: &Encoder, texts: &BTreeSet<String>) {
        let mut table = u16::try_from(encoder.dimension())
            .unwrap()
            .to_le_bytes()
            .to_vec();
        for text in texts {
            table.extend(row(text, &encoder.embed(text)));
        }
        std::fs::write(PATH, table).unwrap();
    }

    #[test]
    fn the_vectors_in_the_binary_are_those_of_the_words_and_the_model_in_the_binary() {
        let (encoder, texts) = (built_in(), texts());
        if std::env::var_os(WRITE).is_some() {
            return write(&encoder, &texts);
        }
        let how =
            format!("write them anew: {WRITE}=1 cargo test -p kitbag-gateway --lib precomputed");
        assert_eq!(rows(TABLE).count(), texts.len(), "{how}");
        for (number, text) in texts.iter().enumerate() {
            let kept = vector(text).unwrap_or_else(|| panic!("`{text}` has no vector; {how}"));
            // Each takes milliseconds; a model that changed shows in every one.
            if number % 10 == 0 {
                let made = encoder.embed(text);
                let product =
                    |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
                let cosine =
                    product(&kept, &made) / (product(&kept, &kept) * product(&made, &made)).sqrt();
                assert!(
                    cosine > 0.999,
                    "`{text}` has another vector ({cosine}); {how}"
                );
            }
        }
    }

    #[tokio::test]
    async fn what_is_built_in_is_embedded_without_the_model_and_the_rest_in_its_place() {
        let local = super::super::local::Local::built_in();
        let texts: Vec<String> = texts().into_iter().take(20).collect();
        let vectors = local
            .embed(texts.clone(), super::super::embedder::Role::Document)
            .await
            .unwrap();
        assert_eq!(vectors.len(), texts.len());
        assert!(!local.is_unpacked());
        let mixed = vec![
            texts[0].clone(),
            "something nobody built in".to_owned(),
            texts[1].clone(),
        ];
        let mixed = local
            .embed(mixed, super::super::embedder::Role::Document)
            .await
            .unwrap();
        assert_eq!((&mixed[0], &mixed[2]), (&vectors[0], &vectors[1]));
        assert_eq!(mixed[1].len(), vectors[0].len());
        assert!(local.is_unpacked());
    }
}
