"""Training requests in batches, and texts into vectors on the GPU.

Numbers of rows, tools and texts stay on the CPU, so that the GPU is never waited for while the
next batch is drawn.
"""

import dataclasses

import numpy as np
import torch

from encoder import Packed
from mixtures import TRIALS

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TWIN_SIMILARITY = 0.88
SPELLINGS = (0.6, 0.2, 0.2)
# Texts that are embedded at once when no gradient is wanted; their similarities to all tools fit beside them.
BLOCK = 2048


@dataclasses.dataclass
class Batch:
    """A request, one tool that answers it and a text of that tool, per row."""

    rows: np.ndarray
    tools: np.ndarray
    queries: np.ndarray
    documents: np.ndarray


class Requests:
    def __init__(self, path):
        table = dict(np.load(path))
        self.texts = Texts(table)
        self.query, self.instead, self.variants = (table[key] for key in ("query", "instead", "variants"))
        self.relevant, self.server = table["relevant"], table["server"]
        self.counts = (self.relevant >= 0).sum(1)
        self.seen_tools = np.flatnonzero(~table["unseen"])
        self.groups = {}
        for number, name in enumerate(table["sources"]):
            rows = np.flatnonzero((table["source"] == number) & ~table["held_out"])
            self.groups[str(name)] = by_server(rows, self.server[self.relevant[rows, 0]])

    def mix(self, trial):
        """Draws from now on as the trial of this name says."""
        mixture, self.together = TRIALS[trial]
        weights = np.array([mixture[name] for name in self.groups])
        self.weights = weights / weights.sum()

    def batch(self, draw, size):
        """Rows of the mixture, several of one server at a time, so that siblings meet."""
        counts = draw.multinomial(size, self.weights)
        rows = np.concatenate([several(draw, *group, count, self.together) for group, count in zip(self.groups.values(), counts)])
        tools = self.relevant[rows, draw.integers(0, self.counts[rows])]
        own = self.instead[rows]
        return Batch(rows, tools, self.query[rows], np.where(own >= 0, own, self.spelling(draw, tools)))

    def spelling(self, draw, tools):
        return self.variants[tools, draw.choice(3, len(tools), p=SPELLINGS)]

    def find_twins(self, model):
        """Vectors by which tools of different servers are recognised as saying the same."""
        self.plain = self.texts.vectors(model, self.variants[:, 0])

    def false_negatives(self, batch):
        """Where a row's request is also answered by a column's tool, the row's own apart."""
        relevant, tools = gpu(self.relevant[batch.rows]), gpu(batch.tools)
        excluded = torch.zeros(len(tools), len(tools), dtype=torch.bool, device=DEVICE)
        for column in range(relevant.shape[1]):
            excluded |= relevant[:, column, None] == tools
        plain, server = self.plain[tools], gpu(self.server[batch.tools])
        excluded |= are_twins(plain @ plain.T, server[:, None], server)
        return excluded.fill_diagonal_(False)


class Texts:
    """Token rows on the GPU, embedded in blocks of like length."""

    def __init__(self, table):
        ends = table["ends"].astype(np.int64)
        self.lengths = np.diff(ends, prepend=0)
        self.starts = ends - self.lengths
        self.tokens = gpu(table["tokens"].astype(np.int32))

    def embed(self, model, texts, **kwargs):
        """One vector per text number, with gradients."""
        starts, owner, place = end_to_end(self.lengths[texts])
        return model(self.packed(starts, owner, place, self.starts[texts][owner] + place), **kwargs)

    def packed(self, starts, owner, place, source):
        """`source` has the number of each token in this table."""
        longest = int(np.diff(starts).max())
        return Packed(self.tokens[gpu(source)], gpu(place), gpu(owner), gpu(starts.astype(np.int32)), longest)

    @torch.no_grad()
    def vectors(self, model, texts, dtype=torch.bfloat16):
        """One vector per text number, for any number of them."""
        model.eval()
        return by_length(self.lengths[texts], lambda block: self.embed(model, texts[block], dtype=dtype).to(dtype))


def end_to_end(lengths):
    """Where texts of these lengths begin (with the total at the end), and each token's text and place in it."""
    starts = np.append(0, np.cumsum(lengths))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return starts, owner, np.arange(starts[-1]) - starts[owner]


def by_length(lengths, compute, size=BLOCK):
    """What `compute` makes of the rows with these lengths, in their order; it gets rows of like length at a time."""
    order = np.argsort(lengths, kind="stable")
    found = torch.cat([compute(order[block]) for block in blocks(len(order), size)])
    return torch.empty_like(found).index_copy_(0, gpu(order), found)


def blocks(count, size=BLOCK):
    """The numbers up to `count`, so many at a time."""
    return np.array_split(np.arange(count), -(-count // size))


def are_twins(likeness, server, other):
    """True where tools of different servers say the same, by the likeness of their vectors in the published model."""
    return ((server != other) | (other < 0)) & (likeness > TWIN_SIMILARITY)


def by_server(rows, servers):
    """Rows ordered by server, and where each server's run begins and how long it is."""
    order = np.argsort(servers, kind="stable")
    starts = np.flatnonzero(np.diff(servers[order], prepend=-2))
    return rows[order], starts, np.diff(np.append(starts, len(rows)))


def several(draw, rows, starts, sizes, count, together):
    picked = draw.integers(0, len(rows), -(-count // together))
    server = np.searchsorted(starts, picked, "right") - 1
    inside = draw.integers(0, 1 << 30, (len(picked), together)) % sizes[server][:, None]
    return rows[starts[server][:, None] + inside].ravel()[:count]


def gpu(array):
    return torch.as_tensor(array, device=DEVICE)
