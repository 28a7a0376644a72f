//! Compares the encoder with vectors computed in full precision by another program
//! (`fixtures/make_vectors.py`).
#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use kitbag_encoder::{Encoder, ModelError, ModelFiles, Pooling, Vocabulary};
use serde::Deserialize;

const CONFIG: &str = include_str!("fixtures/tiny/config.json");
const WEIGHTS: &[u8] = include_bytes!("fixtures/tiny/model.safetensors");
const PIECES: &str = include_str!("fixtures/tiny/vocab.txt");
const CONTAINER: &[u8] = include_bytes!("fixtures/tiny/embedder.bin");
const VECTORS: &str = include_str!("fixtures/tiny/vectors.json");

#[derive(Deserialize)]
struct Case {
    text: String,
    vector: Vec<f32>,
}

#[test]
fn a_small_model_gives_the_vectors_of_full_precision() {
    check(&tiny(), VECTORS, 0.999);
    check(&Encoder::from_container(CONTAINER).unwrap(), VECTORS, 0.999);
}

#[track_caller]
fn check(encoder: &Encoder, cases: &str, least: f32) {
    let cases: Vec<Case> = serde_json::from_str(cases).unwrap();
    for Case { text, vector } in cases {
        // A text of one token has no averaging that evens out the rounding.
        let least = if text.chars().count() < 2 {
            least - 0.01
        } else {
            least
        };
        let found = encoder.embed(&text);
        let cosine: f32 = found.iter().zip(&vector).map(|(a, b)| a * b).sum();
        assert!(cosine >= least, "{cosine} for {text:?}");
    }
}

#[test]
fn a_batch_gives_the_same_bits_as_one_text_at_a_time() {
    let texts: Vec<String> = (0..60)
        .map(|count| "find the users mail ".repeat(count % 7))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let encoder = tiny();
    let alone: Vec<_> = texts.iter().map(|text| encoder.embed(text)).collect();
    assert_eq!(encoder.embed_batch(&texts), alone);
    assert_eq!(encoder.embed_batch(&[]), Vec::<Vec<f32>>::new());
}

#[test]
fn any_text_has_a_vector_of_length_one() {
    let encoder = tiny();
    for text in [
        "",
        "\0",
        "🎒",
        &"🎒".repeat(25_000),
        &"a".repeat(100_000),
        &"e\u{301}".repeat(40_000),
        &" ".repeat(100_000),
    ] {
        let vector = encoder.embed(text);
        let length: f32 = vector.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
}

#[test]
fn a_model_is_named_by_its_content() {
    let other = PIECES.replace("mail", "post");
    assert_eq!(tiny().id(), tiny().id());
    assert_ne!(tiny().id(), load(CONFIG, WEIGHTS, &other).unwrap().id());
}

#[test]
fn another_pooling_is_another_model() {
    let first = load_with_pooling(CONFIG, WEIGHTS, PIECES, Pooling::First).unwrap();
    assert_ne!(first.id(), tiny().id());
    let text = "find the users mail";
    let vector = first.embed(text);
    assert_ne!(vector, tiny().embed(text));
    assert!((vector.iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-5);
    assert_eq!(first.embed_batch(&["open", text])[1], vector);
}

#[test]
fn an_invalid_model_is_rejected_with_a_message() {
    let refused = |from: &str, to: &str, pieces: &str| {
        load(&CONFIG.replace(from, to), WEIGHTS, pieces)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(
            "\"num_hidden_layers\": 2",
            "\"num_hidden_layers\": 3",
            PIECES
        ),
        "tensor bert.encoder.layer.2.attention.self.query.weight is missing"
    );
    assert_eq!(
        refused(
            "\"intermediate_size\": 90",
            "\"intermediate_size\": 64",
            PIECES
        ),
        "tensor bert.encoder.layer.0.intermediate.dense.weight has shape [90, 42], expected [64, 42]"
    );
    assert_eq!(
        refused(
            "\"num_attention_heads\": 3",
            "\"num_attention_heads\": 4",
            PIECES
        ),
        "invalid model shape: 4 heads do not divide a width of 42"
    );
    assert_eq!(
        refused("\"gelu\"", "\"relu\"", PIECES),
        "hidden_act \"relu\" is not supported, expected gelu"
    );
    let more = format!("{PIECES}one\nmore\n");
    assert_eq!(
        refused("", "", &more),
        "the vocabulary has token 24, but the model has 23 tokens"
    );
}

#[test]
fn a_corrupted_file_does_not_panic() {
    for length in (0..WEIGHTS.len()).step_by(997) {
        assert!(load(CONFIG, &WEIGHTS[..length], PIECES).is_err());
    }
    for length in (0..CONTAINER.len()).step_by(997) {
        assert!(Encoder::from_container(&CONTAINER[..length]).is_err());
    }
    for at in 0..4000 {
        let mut scratched = CONTAINER.to_vec();
        scratched[at] ^= 0x15;
        if let Ok(encoder) = Encoder::from_container(&scratched) {
            assert!(
                encoder
                    .embed("create_issue")
                    .iter()
                    .all(|value| value.is_finite())
            );
        }
    }
}

fn tiny() -> Encoder {
    load(CONFIG, WEIGHTS, PIECES).unwrap()
}

fn load(config: &str, weights: &[u8], pieces: &str) -> Result<Encoder, ModelError> {
    load_with_pooling(config, weights, pieces, Pooling::Mean)
}

fn load_with_pooling(
    config: &str,
    weights: &[u8],
    pieces: &str,
    pooling: Pooling,
) -> Result<Encoder, ModelError> {
    Encoder::from_files(ModelFiles {
        config: config.as_bytes(),
        weights,
        vocabulary: Vocabulary::Lines(pieces),
        pooling,
    })
}
