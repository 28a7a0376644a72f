//! OpenAI's embeddings format: the body of a request, and the vectors in the reply.

use kitbag_relevance::dense::is_comparable;
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
pub(crate) struct EmbeddingsRequest<'a> {
    pub(crate) model: &'a str,
    pub(crate) input: &'a [String],
    pub(crate) encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct EmbeddingsReply {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: usize,
    embedding: Vec<f32>,
}

/// Parses the requested vectors, normalized to length one, in the order of the texts.
pub(crate) fn read(body: &[u8], wanted: usize) -> Result<Vec<Vec<f32>>, String> {
    let reply = serde_json::from_slice::<EmbeddingsReply>(body);
    let reply = reply.map_err(|error| error.to_string())?;
    let mut vectors = vec![Vec::new(); wanted];
    for item in reply.data {
        item.store_in(&mut vectors)?;
    }
    match vectors.iter().position(Vec::is_empty) {
        Some(missing) => Err(format!("no vector for text {missing} of {wanted}")),
        None => Ok(vectors),
    }
}

impl EmbeddingItem {
    fn store_in(self, vectors: &mut [Vec<f32>]) -> Result<(), String> {
        let (index, wanted) = (self.index, vectors.len());
        let Some(place) = vectors.get_mut(index) else {
            return Err(format!("a vector for text {index} of {wanted}"));
        };
        let vector = normalize(self.embedding);
        *place = vector.ok_or_else(|| format!("the vector of text {index} has no direction"))?;
        Ok(())
    }
}

/// Normalizes the vector to length one; `None` if it has no direction.
fn normalize(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    if !is_comparable(&vector) {
        return None;
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    for value in &mut vector {
        *value /= length;
    }
    Some(vector)
}
