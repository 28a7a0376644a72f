"""The encoder: a small BERT with mean pooling, in full precision or as int8 will compute it.

Tensors have the names of bases.py. With `quantised` on, every matrix product sees the numbers
the int8 runtime will see: weights rounded per output row, activations per token. Gradients
pass through the rounding as if it were not there.
"""

import torch
import torch.nn.functional as F

HEADS = 12
NORM_EPSILON = 1e-12


class Encoder(torch.nn.Module):
    def __init__(self, tensors, layers=None, dropout=0.0):
        """`layers` picks which of the given layers to keep, in order; all of them by default."""
        super().__init__()
        kept = layers or range(1 + max(int(name.split(".")[0]) for name in tensors if name[0].isdigit()))
        self.layers = len(kept)
        self.dropout = dropout
        self.quantised = False
        self.tensors = torch.nn.ParameterDict()
        for name, tensor in tensors.items():
            layer, _, rest = name.partition(".")
            if not layer.isdigit():
                self[name] = tensor
            elif int(layer) in kept:
                self[f"{kept.index(int(layer))}.{rest}"] = tensor

    def __setitem__(self, name, tensor):
        self.tensors[name.replace(".", "_")] = torch.nn.Parameter(torch.as_tensor(tensor, dtype=torch.float32).clone())

    def __getitem__(self, name):
        return self.tensors[name.replace(".", "_")]

    def named(self):
        """Tensors under their own names, for saving."""
        plain = {name.replace(".", "_"): name for name in self.names()}
        return {plain[key]: tensor.detach().float().cpu().numpy() for key, tensor in self.tensors.items()}

    def names(self):
        parts = "query key value merge attention_norm inner output output_norm".split()
        inside = [f"{layer}.{part}" for layer in range(self.layers) for part in parts]
        return ["word", "position"] + [f"{part}.{kind}" for part in ["norm"] + inside for kind in ("weight", "bias")]

    def forward(self, tokens, present, dtype=torch.bfloat16):
        """Unit vectors for rows of token numbers; `present` is false where a row is padding."""
        word, position = self.matrix("word", dtype), self.matrix("position", dtype)
        hidden = F.embedding(tokens, word) + position[: tokens.shape[1]]
        hidden = self.drop(self.norm("norm", hidden))
        for layer in range(self.layers):
            attended = self.linear(f"{layer}.merge", self.attention(layer, hidden, present))
            hidden = self.norm(f"{layer}.attention_norm", hidden + self.drop(attended))
            inner = F.gelu(self.linear(f"{layer}.inner", hidden))
            hidden = self.norm(f"{layer}.output_norm", hidden + self.drop(self.linear(f"{layer}.output", inner)))
        kept = present.unsqueeze(-1)
        mean = (hidden.float() * kept).sum(1) / kept.sum(1)
        return F.normalize(mean, dim=-1)

    def attention(self, layer, hidden, present):
        rows, length, width = hidden.shape
        parts = [f"{layer}.{part}" for part in ("query", "key", "value")]
        weight = torch.cat([self.matrix(f"{part}.weight", hidden.dtype) for part in parts])
        bias = torch.cat([self[f"{part}.bias"] for part in parts]).to(hidden.dtype)
        mixed = F.linear(self.activation(hidden), weight, bias).view(rows, length, 3, HEADS, width // HEADS)
        query, key, value = mixed.permute(2, 0, 3, 1, 4)
        mask = present[:, None, None, :].expand(rows, 1, length, length)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return attended.transpose(1, 2).reshape(rows, length, width)

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


def rounded(tensor):
    """Each row on its own grid of 255 levels, the widest value at 127."""
    values = tensor.detach().float()
    scale = values.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
    grid = ((values / scale).round() * scale).to(tensor.dtype)
    return tensor + (grid - tensor).detach()
