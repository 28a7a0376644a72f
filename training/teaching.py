"""The targets of the student: how similar each request and tool should be."""

import numpy as np
import torch

from batches import DEVICE, blocks, gpu
from encoder import Encoder

SCALE = 30.0
NEIGHBOURS = 32
# The file with the cross-encoder's scores of each request's neighbours.
OPINIONS = "opinions.npy"
# If the cross-encoder and the teachers disagree, both count the same. With four fifths for the cross-encoder, the
# student lost its gains on unseen servers.
CROSS_ENCODER_WEIGHT = 0.5


class Teaching:
    """The mean similarities of the teachers."""

    def __init__(self, teachers, data):
        self.requests = [data.texts.vectors(model, data.query) for model in teachers]
        self.tools = [data.texts.vectors(model, data.variants[:, 0]) for model in teachers]
        best = [self.similarity(block, data.seen_tools).topk(NEIGHBOURS).indices for block in blocks(len(data.query))]
        self.best = data.seen_tools[torch.cat(best).cpu().numpy()]

    @classmethod
    def from_folder(cls, work, data):
        """Loads the teachers whose weights are in a folder."""
        return cls([Encoder(np.load(path)).to(DEVICE) for path in sorted(work.glob("teacher-*.npz"))], data)

    def similarity(self, rows, tools):
        rows, tools = gpu(rows), gpu(tools)
        return SCALE * sum((q[rows] @ t[tools].T).float() for q, t in zip(self.requests, self.tools)) / len(self.tools)

    def neighbours(self, rows, draw):
        """Draws, for each request, one of the tools that the teachers rank first."""
        return self.best[rows, draw.integers(0, self.best.shape[1], len(rows))]


class CorrectedTeaching:
    """The mean similarities of the teachers, corrected by the cross-encoder for the tools that they rank first."""

    def __init__(self, known, opinions):
        self.known, self.best = known, gpu(known.best)
        self.tools = len(known.tools[0])
        theirs = torch.cat([self.of_best(block) for block in blocks(len(known.best))])
        # Both are centred, so that the mean similarity of a request's top tools does not change.
        self.corrections = CROSS_ENCODER_WEIGHT * (centred(gpu(opinions).float()) - centred(theirs))

    def of_best(self, rows):
        return self.known.similarity(rows, np.arange(self.tools)).gather(1, self.best[gpu(rows)])

    def similarity(self, rows, tools):
        distinct, column = torch.unique(gpu(tools), return_inverse=True)
        # Tools that are not requested share an extra column, which is ignored.
        place = torch.full((self.tools,), len(distinct), device=DEVICE)
        place[distinct] = torch.arange(len(distinct), device=DEVICE)
        correction = torch.zeros(len(rows), len(distinct) + 1, device=DEVICE)
        correction.scatter_(1, place[self.best[gpu(rows)]], self.corrections[gpu(rows)])
        return self.known.similarity(rows, tools) + correction[:, column]

    def neighbours(self, rows, draw):
        return self.known.neighbours(rows, draw)


def centred(values):
    return values - values.mean(1, keepdim=True)
