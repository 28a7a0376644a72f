"""What the student is taught: how near each request and tool should be."""

import numpy as np
import torch

from batches import DEVICE, blocks, gpu
from encoder import Encoder

SCALE = 30.0
NEIGHBOURS = 32
# The file in which the cross-encoder leaves what it thinks of each request's neighbours.
OPINIONS = "opinions.npy"
# Where the cross-encoder and the teachers disagree, the truth is taken to lie in the middle: with four fifths for the
# cross-encoder, the student lost on unseen servers what it had gained.
CROSS_ENCODER_WEIGHT = 0.5


class Teaching:
    """The mean similarities of the teachers."""

    def __init__(self, teachers, data):
        self.requests = [data.texts.vectors(model, data.query) for model in teachers]
        self.tools = [data.texts.vectors(model, data.variants[:, 0]) for model in teachers]
        best = [self.similarity(block, data.seen_tools).topk(NEIGHBOURS).indices for block in blocks(len(data.query))]
        self.best = data.seen_tools[torch.cat(best).cpu().numpy()]

    @classmethod
    def of(cls, work, data):
        """By the teachers whose weights are in a folder."""
        return cls([Encoder(np.load(path)).to(DEVICE) for path in sorted(work.glob("teacher-*.npz"))], data)

    def similarity(self, rows, tools):
        rows, tools = gpu(rows), gpu(tools)
        return SCALE * sum((q[rows] @ t[tools].T).float() for q, t in zip(self.requests, self.tools)) / len(self.tools)

    def neighbours(self, rows, draw):
        """For each request, one of the tools the teachers rank first."""
        return self.best[rows, draw.integers(0, self.best.shape[1], len(rows))]


class Corrected:
    """The mean similarities of the teachers, corrected by the cross-encoder for the tools that they rank first."""

    def __init__(self, known, opinions):
        self.known, self.best = known, gpu(known.best)
        self.tools = len(known.tools[0])
        theirs = torch.cat([self.of_best(block) for block in blocks(len(known.best))])
        # Both around their mean, so that a request's first tools stay as near as they were to all others.
        self.corrections = CROSS_ENCODER_WEIGHT * (centred(gpu(opinions).float()) - centred(theirs))

    def of_best(self, rows):
        return self.known.similarity(rows, np.arange(self.tools)).gather(1, self.best[gpu(rows)])

    def similarity(self, rows, tools):
        distinct, column = torch.unique(gpu(tools), return_inverse=True)
        # Tools that are not asked for share a column that is left out.
        place = torch.full((self.tools,), len(distinct), device=DEVICE)
        place[distinct] = torch.arange(len(distinct), device=DEVICE)
        correction = torch.zeros(len(rows), len(distinct) + 1, device=DEVICE)
        correction.scatter_(1, place[self.best[gpu(rows)]], self.corrections[gpu(rows)])
        return self.known.similarity(rows, tools) + correction[:, column]

    def neighbours(self, rows, draw):
        return self.known.neighbours(rows, draw)


def centred(values):
    return values - values.mean(1, keepdim=True)
