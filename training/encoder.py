"""The encoder: a small BERT with mean pooling, in full precision or with int8 rounding.

The texts of a batch are concatenated into one row of tokens, so nothing is spent on padding.
Tensors have the names of bases.py. If `quantized` is true, every matrix product gets the same
numbers as in the int8 runtime: weights rounded per output row, activations per token. Gradients
ignore the rounding.
"""

import dataclasses

import torch
import torch.nn.functional as F

from attention import attend
from encoder_shape import HEADS, NORM_EPSILON

PARTS = "query key value merge attention_norm inner output output_norm".split()


@dataclasses.dataclass
class Packed:
    """Several concatenated texts: their tokens, the position of each token in its text, the text it
    belongs to, and the starts of the texts (and the total)."""

    tokens: torch.Tensor
    place: torch.Tensor
    owner: torch.Tensor
    starts: torch.Tensor
    longest: int


class Encoder(torch.nn.Module):
    def __init__(self, tensors, dropout=0.0):
        super().__init__()
        self.layers = 1 + max(int(name.split(".")[0]) for name in tensors if name[0].isdigit())
        self.dropout = dropout
        self.quantized = False
        self.tensors = torch.nn.ParameterDict()
        for name, tensor in tensors.items():
            self[name] = tensor

    def __setitem__(self, name, tensor):
        self.tensors[name.replace(".", "_")] = torch.nn.Parameter(torch.as_tensor(tensor, dtype=torch.float32).clone())

    def __getitem__(self, name):
        return self.tensors[name.replace(".", "_")]

    def named(self):
        """Returns the tensors by name, for saving."""
        return {name: self[name].detach().float().cpu().numpy() for name in self.names()}

    def names(self):
        inside = [f"{layer}.{part}" for layer in range(self.layers) for part in PARTS]
        return ["word", "position"] + [f"{part}.{kind}" for part in ["norm"] + inside for kind in ("weight", "bias")]

    def forward(self, packed, dtype=torch.bfloat16):
        """Returns one unit vector per text."""
        hidden = self.layered(self.embedded(packed, dtype), packed)
        # The sum instead of the mean is enough, because the vector is normalized.
        return F.normalize(summed(hidden, packed), dim=-1)

    def embedded(self, packed, dtype):
        """Returns the sum of word and position embeddings, before the first layer."""
        return F.embedding(packed.tokens, self.matrix("word", dtype)) + F.embedding(packed.place, self.matrix("position", dtype))

    def layered(self, hidden, packed):
        hidden = self.drop(self.norm("norm", hidden))
        for layer in range(self.layers):
            attended = self.linear(f"{layer}.merge", self.attention(layer, hidden, packed))
            hidden = self.norm(f"{layer}.attention_norm", hidden + self.drop(attended))
            inner = F.gelu(self.linear(f"{layer}.inner", hidden))
            hidden = self.norm(f"{layer}.output_norm", hidden + self.drop(self.linear(f"{layer}.output", inner)))
        return hidden

    def attention(self, layer, hidden, packed):
        parts = [f"{layer}.{part}" for part in ("query", "key", "value")]
        weight = torch.cat([self.matrix(f"{part}.weight", hidden.dtype) for part in parts])
        bias = torch.cat([self[f"{part}.bias"] for part in parts]).to(hidden.dtype)
        mixed = F.linear(self.activation(hidden), weight, bias).view(len(hidden), 3, HEADS, -1)
        return attend(*mixed.unbind(1), packed).reshape(hidden.shape)

    def linear(self, name, hidden):
        weight = self.matrix(f"{name}.weight", hidden.dtype)
        return F.linear(self.activation(hidden), weight, self[f"{name}.bias"].to(hidden.dtype))

    def norm(self, name, hidden):
        weight, bias = self[f"{name}.weight"].to(hidden.dtype), self[f"{name}.bias"].to(hidden.dtype)
        return F.layer_norm(hidden, weight.shape, weight, bias, NORM_EPSILON)

    def drop(self, hidden):
        return F.dropout(hidden, self.dropout, self.training)

    def matrix(self, name, dtype):
        return (rounded(self[name]) if self.quantized else self[name]).to(dtype)

    def activation(self, hidden):
        return rounded(hidden) if self.quantized else hidden


def summed(hidden, packed):
    """Returns the sum of each text's tokens."""
    total = torch.zeros(len(packed.starts) - 1, hidden.shape[1], device=hidden.device)
    return total.index_add(0, packed.owner, hidden.float())


def rounded(tensor):
    """Rounds each row to its own grid of 255 levels, with the largest value at 127."""
    values = tensor.detach().float()
    scale = values.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
    grid = ((values / scale).round() * scale).to(tensor.dtype)
    return tensor + (grid - tensor).detach()
