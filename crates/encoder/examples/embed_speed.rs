//! Measures how long the encoder takes on this machine, on one core.
//!
//!     cargo run --release -p kitbag-encoder --example embed_speed [MODEL]
//!
//! A model is a Kitbag model file or a directory with `config.json`, `model.safetensors` and
//! `vocab.txt`. Without one, the model has the shape and speed of all-MiniLM-L6-v2, but random
//! weights.
#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, iter};

use kitbag_encoder::{Encoder, ModelError, ModelFiles, Pooling, Vocabulary};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let encoder = match env::args().nth(1) {
        Some(path) if Path::new(&path).is_dir() => from_folder(Path::new(&path))?,
        Some(path) => Encoder::from_container(&fs::read(path)?)?,
        None => random()?,
    };
    println!(
        "loaded in {:.0?}: {:?}, {:?}",
        start.elapsed(),
        encoder.shape(),
        encoder.id()
    );

    let words = "create a new issue in the project for the failing build ".repeat(20);
    let first = |count: usize| words.split_inclusive(' ').take(count).collect::<String>();
    for (name, text) in [
        ("12 tokens", first(10)),
        ("64 tokens", first(62)),
        ("128 tokens", first(126)),
    ] {
        report(name, 1, || drop(encoder.embed(&text)));
    }
    let short = first(22);
    let batch = vec![short.as_str(); 64];
    report("24 tokens, alone", 1, || drop(encoder.embed(&short)));
    report("24 tokens, in a batch of 64", 64, || {
        drop(encoder.embed_batch(&batch));
    });
    for (name, text) in [
        ("100 kB of emoji", "🎒".repeat(25_000)),
        ("100 kB of one word", "ab".repeat(50_000)),
    ] {
        report(name, 1, || drop(encoder.embed(&text)));
    }
    Ok(())
}

fn report(name: &str, texts: u32, mut work: impl FnMut()) {
    let mut times: Vec<Duration> = iter::repeat_with(|| {
        let start = Instant::now();
        work();
        start.elapsed() / texts
    })
    .take(50)
    .collect();
    times.sort();
    println!(
        "{name:28} fastest {:>9.1?}   median {:>9.1?}",
        times[0],
        times[times.len() / 2]
    );
}

fn from_folder(folder: &Path) -> Result<Encoder, Box<dyn std::error::Error>> {
    let files = ModelFiles {
        config: &fs::read(folder.join("config.json"))?,
        weights: &fs::read(folder.join("model.safetensors"))?,
        vocabulary: Vocabulary::Lines(&fs::read_to_string(folder.join("vocab.txt"))?),
        pooling: Pooling::Mean,
    };
    Ok(Encoder::from_files(files)?)
}

fn random() -> Result<Encoder, ModelError> {
    let config = r#"{"num_hidden_layers": 6, "hidden_size": 384, "num_attention_heads": 12,
        "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512}"#;
    let words =
        "[UNK] [CLS] [SEP] create a new issue in the project for failing build".replace(' ', "\n");
    Encoder::from_files(ModelFiles {
        config: config.as_bytes(),
        weights: &random_weights(),
        vocabulary: Vocabulary::Lines(&words),
        pooling: Pooling::Mean,
    })
}

fn random_weights() -> Vec<u8> {
    let mut header = serde_json::Map::new();
    let mut data: Vec<u8> = Vec::new();
    let mut state = 1_u32;
    for (name, shape) in shapes() {
        let begin = data.len();
        for _ in 0..shape.iter().product() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            data.extend(((state >> 8) as f32 / 8_388_608.0 - 1.0).to_le_bytes());
        }
        let entry = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [begin, data.len()]});
        header.insert(name, entry);
    }
    let header = serde_json::Value::Object(header).to_string();
    [
        &(header.len() as u64).to_le_bytes(),
        header.as_bytes(),
        &data,
    ]
    .concat()
}

fn shapes() -> Vec<(String, Vec<usize>)> {
    let mut shapes = vec![
        (
            "embeddings.word_embeddings.weight".to_owned(),
            vec![30522, 384],
        ),
        (
            "embeddings.position_embeddings.weight".to_owned(),
            vec![512, 384],
        ),
        (
            "embeddings.token_type_embeddings.weight".to_owned(),
            vec![2, 384],
        ),
    ];
    let mut add = |name: String, shape: &[usize]| {
        shapes.push((format!("{name}.weight"), shape.to_vec()));
        shapes.push((format!("{name}.bias"), vec![shape[0]]));
    };
    add("embeddings.LayerNorm".to_owned(), &[384]);
    for layer in 0..6 {
        for (part, shape) in [
            ("attention.self.query", &[384, 384][..]),
            ("attention.self.key", &[384, 384]),
            ("attention.self.value", &[384, 384]),
            ("attention.output.dense", &[384, 384]),
            ("attention.output.LayerNorm", &[384]),
            ("intermediate.dense", &[1536, 384]),
            ("output.dense", &[384, 1536]),
            ("output.LayerNorm", &[384]),
        ] {
            add(format!("encoder.layer.{layer}.{part}"), shape);
        }
    }
    shapes
}
