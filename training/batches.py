"""Draws batches of training requests, and embeds texts on the GPU.

The numbers of rows, tools and texts stay on the CPU, so that drawing the next batch never waits
for the GPU.
"""

import dataclasses

import numpy as np
import torch

from encoder import Packed
from mixtures import TRIALS

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TWIN_SIMILARITY = 0.88
SPELLINGS = (0.6, 0.2, 0.2)
# Texts that are embedded at once if no gradient is needed. Their similarities to all tools fit into memory as well.
BLOCK = 2048


@dataclasses.dataclass
class Batch:
    """For each row: a request, one tool that answers it, and a text of that tool."""

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
        """Uses the mixture of this trial for all later batches."""
        mixture, self.together = TRIALS[trial]
        weights = np.array([mixture[name] for name in self.groups])
        self.weights = weights / weights.sum()

    def batch(self, draw, size):
        """Draws rows of the mixture, several of one server at a time, so that similar tools compete."""
        counts = draw.multinomial(size, self.weights)
        rows = np.concatenate([draw_rows(draw, *group, count, self.together) for group, count in zip(self.groups.values(), counts)])
        tools = self.relevant[rows, draw.integers(0, self.counts[rows])]
        own = self.instead[rows]
        return Batch(rows, tools, self.query[rows], np.where(own >= 0, own, self.spelling(draw, tools)))

    def spelling(self, draw, tools):
        return self.variants[tools, draw.choice(3, len(tools), p=SPELLINGS)]

    def find_twins(self, model):
        """Computes the vectors that identify tools of different servers with the same meaning."""
        self.plain = self.texts.vectors(model, self.variants[:, 0])

    def false_negatives(self, batch):
        """True where another row's tool also answers a row's request."""
        relevant, tools = gpu(self.relevant[batch.rows]), gpu(batch.tools)
        excluded = torch.zeros(len(tools), len(tools), dtype=torch.bool, device=DEVICE)
        for column in range(relevant.shape[1]):
            excluded |= relevant[:, column, None] == tools
        plain, server = self.plain[tools], gpu(self.server[batch.tools])
        excluded |= are_twins(plain @ plain.T, server[:, None], server)
        return excluded.fill_diagonal_(False)


class Texts:
    """Tokenized texts on the GPU, embedded in blocks of similar length."""

    def __init__(self, table):
        ends = table["ends"].astype(np.int64)
        self.lengths = np.diff(ends, prepend=0)
        self.starts = ends - self.lengths
        self.tokens = gpu(table["tokens"].astype(np.int32))

    def embed(self, model, texts, **kwargs):
        """Returns one vector per text number, with gradients."""
        starts, owner, place = end_to_end(self.lengths[texts])
        return model(self.packed(starts, owner, place, self.starts[texts][owner] + place), **kwargs)

    def packed(self, starts, owner, place, source):
        """`source` is the index of each token in this table."""
        longest = int(np.diff(starts).max())
        return Packed(self.tokens[gpu(source)], gpu(place), gpu(owner), gpu(starts.astype(np.int32)), longest)

    @torch.no_grad()
    def vectors(self, model, texts, dtype=torch.bfloat16):
        """Returns one vector per text number, without gradients, for any number of texts."""
        model.eval()
        return by_length(self.lengths[texts], lambda block: self.embed(model, texts[block], dtype=dtype).to(dtype))


def end_to_end(lengths):
    """Returns the starts of concatenated texts of these lengths (and the total), and each token's text and position in it."""
    starts = np.append(0, np.cumsum(lengths))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return starts, owner, np.arange(starts[-1]) - starts[owner]


def by_length(lengths, compute, size=BLOCK):
    """Applies `compute` to blocks of rows of similar length, and returns the results in the original order."""
    order = np.argsort(lengths, kind="stable")
    found = torch.cat([compute(order[block]) for block in blocks(len(order), size)])
    return torch.empty_like(found).index_copy_(0, gpu(order), found)


def blocks(count, size=BLOCK):
    """Splits the numbers below `count` into blocks of at most `size`."""
    return np.array_split(np.arange(count), -(-count // size))


def are_twins(likeness, server, other):
    """True where tools of different servers have the same meaning, by the similarity of their vectors in the published model."""
    return ((server != other) | (other < 0)) & (likeness > TWIN_SIMILARITY)


def by_server(rows, servers):
    """Returns the rows sorted by server, and the start and the length of each server's run."""
    order = np.argsort(servers, kind="stable")
    starts = np.flatnonzero(np.diff(servers[order], prepend=-2))
    return rows[order], starts, np.diff(np.append(starts, len(rows)))


def draw_rows(draw, rows, starts, sizes, count, together):
    """Draws `count` rows, `together` of one server at a time."""
    picked = draw.integers(0, len(rows), -(-count // together))
    server = np.searchsorted(starts, picked, "right") - 1
    inside = draw.integers(0, 1 << 30, (len(picked), together)) % sizes[server][:, None]
    return rows[starts[server][:, None] + inside].ravel()[:count]


def gpu(array):
    return torch.as_tensor(array, device=DEVICE)
