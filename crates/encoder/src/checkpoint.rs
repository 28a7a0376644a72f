//! Finds a model's tensors in a file, under Kitbag's names or the published ones.

use super::error::ModelError;
use super::tensors::Tensors;
use super::weights::{LayerWeights, Matrix, ModelShape, ModelWeights, Norm};

#[derive(Debug)]
pub(super) struct Checkpoint<'a> {
    pub(super) tensors: Tensors<'a>,
    pub(super) names: TensorNames,
    pub(super) epsilon: f32,
}

/// The names in a file for `word`, `position`, `norm.weight`, `0.query.weight` and so on.
#[derive(Debug, Clone, Copy)]
pub(super) enum TensorNames {
    Ours,
    /// As published by Hugging Face, in some files with the name of the architecture as a prefix.
    Published {
        prefix: &'static str,
    },
}

impl TensorNames {
    pub(super) fn published_in(tensors: &Tensors<'_>) -> Self {
        let all = ["", "bert.", "model."].map(|prefix| Self::Published { prefix });
        all.into_iter()
            .find(|names| tensors.has(&names.name_in_file("word")))
            .unwrap_or(all[0])
    }

    pub(super) fn name_in_file(self, kitbag_name: &str) -> String {
        let Self::Published { prefix } = self else {
            return kitbag_name.to_owned();
        };
        let published_name = match kitbag_name.split_once('.') {
            Some((layer, part)) if layer.parse::<usize>().is_ok() => {
                format!("encoder.layer.{layer}.{}", hugging_face_name(part))
            }
            _ => format!("embeddings.{}", hugging_face_name(kitbag_name)),
        };
        format!("{prefix}{published_name}")
    }
}

fn hugging_face_name(kitbag_name: &str) -> String {
    let (name, kind) = kitbag_name
        .split_once('.')
        .unwrap_or((kitbag_name, "weight"));
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
    pub(super) fn weights(&self, shape: &ModelShape) -> Result<ModelWeights, ModelError> {
        Ok(ModelWeights {
            words: self.matrix("word", shape.vocabulary, shape.hidden)?,
            positions: self.positions(shape)?,
            norm: self.norm("norm", shape)?,
            layers: (0..shape.layers)
                .map(|layer| self.layer(layer, shape))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Returns the sum of position and token type. Every token has the first type, which is already
    /// added to the positions in Kitbag's own files.
    fn positions(&self, shape: &ModelShape) -> Result<Vec<f32>, ModelError> {
        match self.names {
            TensorNames::Ours => {
                let positions = self.matrix("position", shape.positions, shape.hidden)?;
                let rows = 0..shape.positions;
                Ok(rows.flat_map(|position| positions.row(position)).collect())
            }
            TensorNames::Published { .. } => self.published_positions(shape),
        }
    }

    fn published_positions(&self, shape: &ModelShape) -> Result<Vec<f32>, ModelError> {
        let name = self.names.name_in_file("position");
        let mut positions = self
            .tensors
            .floats(&name, &[shape.positions, shape.hidden])?;
        let types = self.names.name_in_file("type");
        let (rows, _) = self.tensors.size(&types)?;
        let types = self.tensors.floats(&types, &[rows, shape.hidden])?;
        let first_type = types[..shape.hidden].iter().cycle();
        for (value, first) in positions.iter_mut().zip(first_type) {
            *value += first;
        }
        Ok(positions)
    }

    fn layer(&self, layer: usize, shape: &ModelShape) -> Result<LayerWeights, ModelError> {
        let ModelShape {
            hidden,
            intermediate,
            ..
        } = *shape;
        let (query, query_bias) = self.linear(layer, "query", hidden, hidden)?;
        let (key, key_bias) = self.linear(layer, "key", hidden, hidden)?;
        let (value, value_bias) = self.linear(layer, "value", hidden, hidden)?;
        let (merge, merge_bias) = self.linear(layer, "merge", hidden, hidden)?;
        let (inner, inner_bias) = self.linear(layer, "inner", intermediate, hidden)?;
        let (output, output_bias) = self.linear(layer, "output", hidden, intermediate)?;
        Ok(LayerWeights {
            mix: query.below(key).below(value),
            mix_bias: [query_bias, key_bias, value_bias].concat(),
            merge,
            merge_bias,
            attention_norm: self.norm(&format!("{layer}.attention_norm"), shape)?,
            inner,
            inner_bias,
            output,
            output_bias,
            output_norm: self.norm(&format!("{layer}.output_norm"), shape)?,
        })
    }

    /// A matrix of a layer and its bias.
    fn linear(
        &self,
        layer: usize,
        part: &str,
        rows: usize,
        columns: usize,
    ) -> Result<(Matrix, Vec<f32>), ModelError> {
        Ok((
            self.matrix(&format!("{layer}.{part}.weight"), rows, columns)?,
            self.floats(&format!("{layer}.{part}.bias"), rows)?,
        ))
    }

    fn norm(&self, name: &str, shape: &ModelShape) -> Result<Norm, ModelError> {
        Ok(Norm {
            weight: self.floats(&format!("{name}.weight"), shape.hidden)?,
            bias: self.floats(&format!("{name}.bias"), shape.hidden)?,
            epsilon: self.epsilon,
        })
    }

    fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix, ModelError> {
        self.tensors
            .matrix(&self.names.name_in_file(name), rows, columns)
    }

    fn floats(&self, name: &str, count: usize) -> Result<Vec<f32>, ModelError> {
        self.tensors
            .floats(&self.names.name_in_file(name), &[count])
    }
}
