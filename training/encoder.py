"""The encoder: a small BERT with mean pooling, in full precision or as int8 will compute it.

Texts of a batch lie end to end in one long row of tokens, so nothing is spent on padding.
Tensors have the names of bases.py. With `quantised` on, every matrix product sees the numbers
the int8 runtime will see: weights rounded per output row, activations per token. Gradients
pass through the rounding as if it were not there.
"""

import dataclasses

import torch
import torch.nn.functional as F

from attention import attend
from encoder_shape import HEADS, NORM_EPSILON

PARTS = "query key value merge attention_norm inner output output_norm".split()


@dataclasses.dataclass
class Packed:
    """Several texts end to end: their tokens, the place of each token in its text, the text it
    belongs to, and where texts begin (with the total at the end)."""

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
        self.quantised = False
        self.tensors = torch.nn.ParameterDict()
        for name, tensor in tensors.items():
            self[name] = tensor

    def __setitem__(self, name, tensor):
        self.tensors[name.replace(".", "_")] = torch.nn.Parameter(torch.as_tensor(tensor, dtype=torch.float32).clone())

    def __getitem__(self, name):
        return self.tensors[name.replace(".", "_")]

    def named(self):
        """Tensors under their own names, for saving."""
        return {name: self[name].detach().float().cpu().numpy() for name in self.names()}

    def names(self):
        inside = [f"{layer}.{part}" for layer in range(self.layers) for part in PARTS]
        return ["word", "position"] + [f"{part}.{kind}" for part in ["norm"] + inside for kind in ("weight", "bias")]

    def forward(self, packed, dtype=torch.bfloat16):
        """One unit vector per text."""
        hidden = self.layered(self.embedded(packed, dtype), packed)
        # The length of the sum does not matter: the vector is brought to length one.
        return F.normalize(summed(hidden, packed), dim=-1)

    def embedded(self, packed, dtype):
        """The words and their places, before the first layer."""
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
        return (rounded(self[name]) if self.quantised else self[name]).to(dtype)

    def activation(self, hidden):
        return rounded(hidden) if self.quantised else hidden


def summed(hidden, packed):
    """The sum of each text's tokens."""
    total = torch.zeros(len(packed.starts) - 1, hidden.shape[1], device=hidden.device)
    return total.index_add(0, packed.owner, hidden.float())


def rounded(tensor):
    """Each row on its own grid of 255 levels, the widest value at 127."""
    values = tensor.detach().float()
    scale = values.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
    grid = ((values / scale).round() * scale).to(tensor.dtype)
    return tensor + (grid - tensor).detach()
