"""The embedder in plain numpy: the computation of the Rust runtime, in as few lines as possible.

usage: reference.py FILE TEXT…      prints the cosines between the texts

Matrix products take int8 times int8 into exact sums; a token's activations are put on a grid of
their own before each. Everything else is f32.
"""

import math
import sys

import numpy as np
from safetensors import safe_open
from scipy.special import erf

from encoder_shape import HEADS, MAX_TOKENS, NORM_EPSILON
from wordpiece import WordPiece


class Embedder:
    def __init__(self, file):
        with safe_open(file, framework="numpy") as tensors:
            assert tensors.metadata() == {"format": "kitbag-embedder-1", "heads": str(HEADS)}
            self.tensors = {name: tensors.get_tensor(name) for name in tensors.keys()}
        self.tokenizer = WordPiece(self.tensors.pop("vocabulary").tobytes().decode().rstrip("\n").split("\n"))
        # f64 holds every sum of products of bytes exactly, and has a fast product.
        self.bytes = {name: tensor.T.astype(np.float64) for name, tensor in self.tensors.items() if tensor.dtype == np.int8}
        self.layers = 1 + max(int(name.split(".")[0]) for name in self.tensors if name[0].isdigit())

    def embed(self, text):
        return self.forward(self.tokenizer.encode(text, MAX_TOKENS))

    def forward(self, tokens):
        hidden = self.rows("word", tokens) + self.rows("position", range(len(tokens)))
        hidden = self.norm("norm", hidden)
        for layer in range(self.layers):
            attended = self.linear(f"{layer}.merge", self.attention(layer, hidden))
            hidden = self.norm(f"{layer}.attention_norm", hidden + attended)
            inner = gelu(self.linear(f"{layer}.inner", hidden))
            hidden = self.norm(f"{layer}.output_norm", hidden + self.linear(f"{layer}.output", inner))
        total = hidden.sum(0)
        return total / np.linalg.norm(total)

    def rows(self, name, chosen):
        chosen = list(chosen)
        return self.tensors[name][chosen] * self.tensors[f"{name} scale"][chosen, None]

    def attention(self, layer, hidden):
        query, key, value = (
            self.linear(f"{layer}.{part}", hidden).reshape(len(hidden), HEADS, -1).transpose(1, 0, 2) for part in ("query", "key", "value")
        )
        strength = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(query.shape[2]))
        strength = np.exp(strength - strength.max(2, keepdims=True))
        strength /= strength.sum(2, keepdims=True)
        return (strength @ value).transpose(1, 0, 2).reshape(hidden.shape)

    def linear(self, name, hidden):
        step = np.maximum(np.abs(hidden).max(1, keepdims=True), np.float32(1e-12)) / np.float32(127)
        sums = np.round(hidden / step).astype(np.float64) @ self.bytes[f"{name}.weight"]
        return sums.astype(np.float32) * (step * self.tensors[f"{name}.weight scale"]) + self.tensors[f"{name}.bias"]

    def norm(self, name, hidden):
        centred = hidden - hidden.mean(1, keepdims=True)
        spread = np.square(centred).mean(1, keepdims=True)
        return centred / np.sqrt(spread + np.float32(NORM_EPSILON)) * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]


def gelu(values):
    return values * (1 + erf(values * np.float32(math.sqrt(0.5)))) / 2


if __name__ == "__main__":
    embedder = Embedder(sys.argv[1])
    found = np.stack([embedder.embed(text) for text in sys.argv[2:]])
    print(np.round(found @ found.T, 3))
