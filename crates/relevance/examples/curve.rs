//! Measures how the index scales: build time, search time and memory on one thread.
//!
//!     cargo run --release -p kitbag-relevance --example curve 1000 10000 100000 [TOOLS]
//!
//! TOOLS is a file with one tool per line, `name | description`. Further tools are variations:
//! their words are mixed with other tools' words and some unique ones, and their vectors are
//! perturbed, because embedding that many texts would take hours. Prints one JSON object per size.
#![expect(clippy::print_stdout, reason = "a program that prints")]

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs};

use kitbag_encoder::Encoder;
use kitbag_relevance::tool_text::ToolText;
use kitbag_relevance::{
    Document, Index, IndexedTool, MAX_TOP_K, Options, Query, QueryStep, retrieve, steps,
};

const MODEL: &[u8] = include_bytes!("../../embedding/kitbag-embedder.bin");
const TOOLS: &str = include_str!("../../../evals/small/tools.jsonl");
/// The number of tools that are embedded; other vectors are derived from theirs.
const EMBEDDED: usize = 2_000;
const QUERIES: usize = 400;
/// Ten words are twelve tokens.
const QUERY_WORDS: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut sizes, mut file) = (Vec::new(), None);
    for argument in env::args().skip(1) {
        match argument.parse::<usize>() {
            Ok(size) => sizes.push(size),
            Err(_) => file = Some(argument),
        }
    }
    let encoder = Encoder::from_container(MODEL)?;
    let real: Vec<Tool> = match file {
        Some(path) => fs::read_to_string(path)?
            .lines()
            .map(Tool::from_line)
            .collect(),
        None => TOOLS
            .lines()
            .map(Tool::from_json)
            .collect::<Result<_, _>>()?,
    };
    let vectors = embed(&encoder, &real);
    let queries = queries(&real);
    for size in sizes {
        measure(&encoder, size, documents(&real, &vectors, size), &queries);
    }
    Ok(())
}

fn measure(encoder: &Encoder, size: usize, documents: Vec<Document>, queries: &[String]) {
    let started = Instant::now();
    let index = Index::build(documents);
    let build = started.elapsed();
    let (mut searching, mut altogether) = (Vec::new(), Vec::new());
    for text in queries {
        let started = Instant::now();
        let parts = steps::split_steps(text);
        let texts: Vec<&str> = std::iter::once(text)
            .chain(&parts)
            .map(String::as_str)
            .collect();
        let mut vectors = encoder.embed_batch(&texts).into_iter();
        let vector = vectors.next().unwrap_or_default();
        let embedded = |(text, vector): (String, Vec<f32>)| QueryStep {
            text,
            vector: vector.into(),
        };
        let steps: Vec<QueryStep> = parts.into_iter().zip(vectors).map(embedded).collect();
        let embedded = Instant::now();
        let query = Query {
            text,
            vector: Some(&vector),
            steps: &steps,
            votes: None,
        };
        assert_eq!(
            retrieve(&index, query, &Options::default(), |_| true)
                .candidates
                .len(),
            MAX_TOP_K
        );
        searching.push(embedded.elapsed());
        altogether.push(started.elapsed());
    }
    let added = time_of_addition(&index);
    let report = serde_json::json!({
        "tools": size,
        "build_ms": build.as_secs_f64() * 1e3,
        "added_ms": added.as_secs_f64() * 1e3,
        "query_p50_us": quantile(&mut searching, 0.5),
        "query_p99_us": quantile(&mut searching, 0.99),
        "query_p50_with_embedding_us": quantile(&mut altogether, 0.5),
        "query_p99_with_embedding_us": quantile(&mut altogether, 0.99),
        "resident_bytes": resident_bytes(),
    });
    println!("{report}");
}

/// Returns the median time of adding one tool.
fn time_of_addition(index: &Index) -> Duration {
    let tries = (0..5).map(|number| {
        let mut documents = index.documents().to_vec();
        let at = documents.len() * number / 5;
        let mut new = Document::clone(&documents[at]);
        Arc::make_mut(&mut new.entry).tool_name.push_str("_new");
        new.name.push_str("_new");
        documents.insert(at, Arc::new(new));
        let started = Instant::now();
        assert_eq!(index.with_documents(documents).len(), index.len() + 1);
        started.elapsed()
    });
    let mut times: Vec<Duration> = tries.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn quantile(times: &mut [Duration], share: f64) -> f64 {
    times.sort_unstable();
    let at = ((times.len() as f64 - 1.0) * share).round() as usize;
    times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

/// The resident memory of this process; 0 if unknown.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

#[derive(Debug, Clone, serde::Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    description: String,
}

impl Tool {
    fn from_line(line: &str) -> Self {
        let (name, description) = line.split_once('|').unwrap_or((line, ""));
        Self {
            name: name.trim().to_owned(),
            description: description.trim().to_owned(),
        }
    }

    fn from_json(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }

    fn document(&self, exposed: String, vector: Arc<[f32]>) -> Document {
        let text = ToolText {
            name: &self.name,
            description: &self.description,
            ..ToolText::default()
        };
        let entry = IndexedTool {
            tool_name: exposed,
            description: self.description.clone(),
            scopes: text.scopes(),
            tags: text.tags(),
            ..IndexedTool::default()
        };
        Document {
            entry: Arc::new(entry),
            name: self.name.clone(),
            parameters: Vec::new(),
            twin: None,
            vector: Some(vector),
        }
    }
}

fn embed(encoder: &Encoder, real: &[Tool]) -> Vec<Vec<f32>> {
    let text = |it: &Tool| {
        ToolText {
            name: &it.name,
            description: &it.description,
            ..ToolText::default()
        }
        .to_embedded_text()
    };
    let texts: Vec<String> = real.iter().take(EMBEDDED).map(text).collect();
    encoder.embed_batch(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The first words of single-step descriptions.
fn queries(real: &[Tool]) -> Vec<String> {
    let opening = |it: &Tool| {
        it.description
            .split_whitespace()
            .take(QUERY_WORDS)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let whole = real
        .iter()
        .map(opening)
        .filter(|it| it.split(' ').count() == QUERY_WORDS);
    let whole: Vec<String> = whole
        .filter(|it| steps::split_steps(it).is_empty())
        .collect();
    whole.iter().cycle().take(QUERIES).cloned().collect()
}

fn documents(real: &[Tool], vectors: &[Vec<f32>], size: usize) -> Vec<Document> {
    let words: Vec<&str> = real
        .iter()
        .flat_map(|it| it.description.split_whitespace())
        .collect();
    let mut noise = Noise(1);
    let document = |number: usize| {
        let base = &real[number % real.len()];
        let vector = &vectors[number % real.len() % vectors.len()];
        if number < vectors.len() {
            return base.document(format!("{}_{number}", base.name), vector.as_slice().into());
        }
        let tool = if number < real.len() {
            base.clone()
        } else {
            vary_tool(base, &words, number, &mut noise)
        };
        tool.document(
            format!("{}_{number}", tool.name),
            perturb_vector(vector, &mut noise),
        )
    };
    (0..size).map(document).collect()
}

/// Every third word comes from another tool, and one word is unique.
fn vary_tool(base: &Tool, words: &[&str], number: usize, noise: &mut Noise) -> Tool {
    let mix = |word| {
        if noise.next().is_multiple_of(3) {
            words[noise.next() as usize % words.len()]
        } else {
            word
        }
    };
    let mut mixed: Vec<&str> = base.description.split_whitespace().map(mix).collect();
    let own = format!("word{number}");
    mixed.push(&own);
    Tool {
        name: base.name.clone(),
        description: mixed.join(" "),
    }
}

fn perturb_vector(vector: &[f32], noise: &mut Noise) -> Arc<[f32]> {
    let spread = 0.6 / (vector.len() as f32).sqrt();
    let moved: Vec<f32> = vector
        .iter()
        .map(|value| value + spread * noise.around_zero())
        .collect();
    let length = moved.iter().map(|value| value * value).sum::<f32>().sqrt();
    moved.into_iter().map(|value| value / length).collect()
}

/// A deterministic generator.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn around_zero(&mut self) -> f32 {
        self.next() as f32 / (1_u64 << 30) as f32 - 1.0
    }
}
