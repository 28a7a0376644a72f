"""Trains a cross-encoder: a model that reads a request and a tool together and scores how well they match.

usage: cross_encoder.py PACK WORK [--mixture NAME]

It is too slow for ranking, so it teaches: its scores of the tools that the teachers rank first for each
training request go into WORK, for `train.py student`.
"""

import argparse
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

from batches import DEVICE, are_twins, by_length, end_to_end, gpu
from encoder import Encoder, summed
from mixtures import TRIALS
from teaching import NEIGHBOURS, OPINIONS, Teaching
from train import Stage, descend, load

# The teacher whose weights it starts from.
BASE = "teacher-gte-2.npz"
STAGE = Stage(2000, 6e-5, batch=160)
# Wrong tools per request, in addition to the right one.
WRONG = 7
# Pairs that are scored at once if no gradient is needed.
BLOCK = 4096


class CrossEncoder(Encoder):
    """An encoder whose attention sees both texts; the tool's tokens are marked."""

    def __init__(self, tensors, dropout):
        super().__init__(tensors, dropout)
        width = len(tensors["norm.weight"])
        self.mark, self.head = (torch.nn.Parameter(torch.zeros(width)) for _ in range(2))
        self.offset = torch.nn.Parameter(torch.zeros(1))

    def forward(self, packed, of_tool, dtype=torch.bfloat16):
        """Returns one number per pair: the log-odds that the tool is right."""
        marks = of_tool[:, None].to(dtype) * self.mark.to(dtype)
        hidden = self.layered(self.embedded(packed, dtype) + marks, packed)
        lengths = packed.starts.diff()[:, None]
        return summed(hidden, packed) / lengths @ self.head + self.offset


def main(options):
    data, _, log = load(options)
    known = Teaching.from_folder(options.work, data)
    model = CrossEncoder(np.load(options.work / BASE), dropout=0.1).to(DEVICE)
    train(model, known, data, log)
    rows = np.repeat(np.arange(len(data.query)), NEIGHBOURS)
    found = opinions(model, data.texts, data.query[rows], data.variants[known.best.ravel(), 0])
    np.save(options.work / OPINIONS, found.reshape(-1, NEIGHBOURS).astype(np.float16))
    log.say(f"{len(rows)} pairs scored")


def train(model, known, data, log):
    """Trains on each request with a right tool and several that the teachers mistake for right."""
    draw = np.random.default_rng(11)

    def loss():
        batch = data.batch(draw, STAGE.batch)
        wrong, is_wrong = wrong_tools(batch, known, data, draw)
        tools = np.column_stack([batch.documents, data.spelling(draw, wrong.ravel()).reshape(wrong.shape)])
        found = read(model, data.texts, np.repeat(batch.queries, 1 + WRONG), tools.ravel()).view(tools.shape)
        return right_first(found, ~gpu(is_wrong)) + 0.5 * right_alone(found, ~gpu(is_wrong))

    descend(model, loss, STAGE, log)


def wrong_tools(batch, known, data, draw):
    """Draws tools near each request and one from anywhere. Returns them, and which of them are not known to be right."""
    size = len(batch.rows)
    near = known.best[batch.rows[:, None], draw.integers(0, NEIGHBOURS, (size, WRONG - 1))]
    tools = np.column_stack([near, draw.choice(data.seen_tools, size)])
    is_right = (tools[:, :, None] == data.relevant[batch.rows][:, None]).any(2)
    server, own = data.server[tools], data.server[batch.tools][:, None]
    likeness = torch.einsum("rw,rtw->rt", data.plain[gpu(batch.tools)].float(), data.plain[gpu(tools)].float())
    return tools, ~is_right & ~are_twins(likeness.cpu().numpy(), own, server)


def right_first(found, excluded):
    """Cross entropy within each row, of which the first tool is right."""
    others = found[:, 1:].masked_fill(excluded, -1e4)
    return F.cross_entropy(torch.cat([found[:, :1], others], 1), torch.zeros(len(found), dtype=torch.long, device=DEVICE))


def right_alone(found, excluded):
    """Cross entropy of each pair by itself, so that a score has a meaning independent of other pairs."""
    wrong = F.softplus(found[:, 1:]).masked_fill(excluded, 0)
    return F.softplus(-found[:, 0]).mean() + wrong.mean()


@torch.no_grad()
def opinions(model, texts, requests, tools):
    """Returns one score per pair of text numbers, without gradients, for any number of pairs."""
    model.eval()
    lengths = texts.lengths[requests] + texts.lengths[tools]
    return by_length(lengths, lambda block: read(model, texts, requests[block], tools[block]), BLOCK).cpu().numpy()


def read(model, texts, requests, tools):
    """Scores pairs. The tool's text follows the request's, without its start token; positions begin anew in each text."""
    of_request, of_tool = texts.lengths[requests], texts.lengths[tools] - 1
    starts, owner, inside = end_to_end(of_request + of_tool)
    is_tool = inside >= of_request[owner]
    place = np.where(is_tool, inside - of_request[owner] + 1, inside)
    source = np.where(is_tool, texts.starts[tools][owner], texts.starts[requests][owner]) + place
    return model(texts.packed(starts, owner, place, source), gpu(is_tool))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("pack", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--mixture", choices=list(TRIALS), default="plain")
    main(parser.parse_args())
