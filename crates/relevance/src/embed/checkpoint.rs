//! Finds a model's tensors in a file, under our names or under the published ones.

use super::error::ModelError;
use super::tensors::Tensors;
use super::weights::{LayerWeights, Matrix, Norm, Shape, Weights};

#[derive(Debug)]
pub(super) struct Checkpoint<'a> {
    pub(super) tensors: Tensors<'a>,
    pub(super) names: Names,
    pub(super) epsilon: f32,
}

/// What a file calls `word`, `position`, `norm.weight`, `0.query.weight` and so on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Names {
    Ours,
    /// As Hugging Face has them, some with the name of the architecture before each.
    Published {
        prefix: &'static str,
    },
}

impl Names {
    pub(super) fn published_in(tensors: &Tensors<'_>) -> Self {
        let all = ["", "bert.", "model."].map(|prefix| Self::Published { prefix });
        all.into_iter()
            .find(|names| tensors.has(&names.of("word")))
            .unwrap_or(all[0])
    }

    pub(super) fn of(self, ours: &str) -> String {
        let Self::Published { prefix } = self else {
            return ours.to_owned();
        };
        let theirs = match ours.split_once('.') {
            Some((layer, part)) if layer.parse::<usize>().is_ok() => {
                format!("encoder.layer.{layer}.{}", published(part))
            }
            _ => format!("embeddings.{}", published(ours)),
        };
        format!("{prefix}{theirs}")
    }
}

fn published(ours: &str) -> String {
    let (name, kind) = ours.split_once('.').unwrap_or((ours, "weight"));
    let name = match name {
        "word" => "word_embeddings",
        "position" => "position_embeddings",
        "type" => "token_type_embeddings",
        "norm" => "LayerNorm",
        "query" => "attention.self.query",
        "key" => "attention.self.key",
        "value" => "attention.self.value",
        "merge" => "attention.output.dense",
        "attention_norm" => "attention.output.LayerNorm",
        "inner" => "intermediate.dense",
        "output" => "output.dense",
        "output_norm" => "output.LayerNorm",
        other => other,
    };
    format!("{name}.{kind}")
}

impl Checkpoint<'_> {
    pub(super) fn weights(&self, shape: &Shape) -> Result<Weights, ModelError> {
        Ok(Weights {
            words: self.matrix("word", shape.vocabulary, shape.hidden)?,
            positions: self.positions(shape)?,
            norm: self.norm("norm", shape)?,
            layers: (0..shape.layers)
                .map(|layer| self.layer(layer, shape))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The type of every token is the first; our own files have it added to the positions.
    fn positions(&self, shape: &Shape) -> Result<Vec<f32>, ModelError> {
        let Names::Published { .. } = self.names else {
            let positions = self.matrix("position", shape.positions, shape.hidden)?;
            return Ok((0..shape.positions)
                .flat_map(|position| positions.row(position))
                .collect());
        };
        let mut positions = self
            .tensors
            .floats(&self.names.of("position"), &[shape.positions, shape.hidden])?;
        let types = self.names.of("type");
        let (rows, _) = self.tensors.size(&types)?;
        let types = self.tensors.floats(&types, &[rows, shape.hidden])?;
        for (value, first) in positions
            .iter_mut()
            .zip(types[..shape.hidden].iter().cycle())
        {
            *value += first;
        }
        Ok(positions)
    }

    fn layer(&self, layer: usize, shape: &Shape) -> Result<LayerWeights, ModelError> {
        let Shape {
            hidden,
            intermediate,
            ..
        } = *shape;
        let matrix = |part: &str, rows, columns| {
            self.matrix(&format!("{layer}.{part}.weight"), rows, columns)
        };
        let bias = |part: &str, rows| self.floats(&format!("{layer}.{part}.bias"), rows);
        let norm = |part: &str| self.norm(&format!("{layer}.{part}"), shape);
        let [query, key, value] =
            ["query", "key", "value"].map(|part| matrix(part, hidden, hidden));
        let [query_bias, key_bias, value_bias] =
            ["query", "key", "value"].map(|part| bias(part, hidden));
        Ok(LayerWeights {
            mix: query?.below(key?).below(value?),
            mix_bias: [query_bias?, key_bias?, value_bias?].concat(),
            merge: matrix("merge", hidden, hidden)?,
            merge_bias: bias("merge", hidden)?,
            attention_norm: norm("attention_norm")?,
            inner: matrix("inner", intermediate, hidden)?,
            inner_bias: bias("inner", intermediate)?,
            output: matrix("output", hidden, intermediate)?,
            output_bias: bias("output", hidden)?,
            output_norm: norm("output_norm")?,
        })
    }

    fn norm(&self, name: &str, shape: &Shape) -> Result<Norm, ModelError> {
        let part = |part| self.floats(&format!("{name}.{part}"), shape.hidden);
        Ok(Norm {
            weight: part("weight")?,
            bias: part("bias")?,
            epsilon: self.epsilon,
        })
    }

    fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix, ModelError> {
        self.tensors.matrix(&self.names.of(name), rows, columns)
    }

    fn floats(&self, name: &str, count: usize) -> Result<Vec<f32>, ModelError> {
        self.tensors.floats(&self.names.of(name), &[count])
    }
}
