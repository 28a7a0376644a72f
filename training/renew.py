"""Teaches the embedder that ships the requests that were written after it.

usage: renew.py PACK FILE OUT [--mixture NAME] [--labels WEIGHT]
  FILE  kitbag-embedder.bin as it ships

The student begins as FILE, which is also its only teacher, so that it keeps what it knows where the
labels say nothing new. A minute of one H200, where new teachers and a student take twenty.
"""

import argparse
import pathlib

import torch
from safetensors.numpy import load_file

import bases
from batches import DEVICE, Requests
from encoder import Encoder
from mixtures import TRIALS
from train import Evaluation, Log, Stage, Teaching, distil, save

STAGE = Stage(420, 6e-5)


def main(options):
    torch.manual_seed(0)
    log, shipped = Log(), shipped_encoder(options.file)
    data, tests = Requests(options.pack / "train.npz"), Evaluation(options.pack / "eval.npz")
    data.mix(options.mixture)
    data.find_twins(shipped)
    log.report("as it ships", tests.results(tests.vectors(shipped)))
    student = Encoder(shipped.named()).to(DEVICE)
    distil(student, Teaching([shipped], data), data, STAGE, log, options.labels)
    vectors = tests.vectors(student)
    log.report("renewed", tests.results(vectors))
    save(options.out, student, vectors, log)


def shipped_encoder(file):
    table = load_file(file)
    table.pop("vocabulary")
    return Encoder(bases.unpacked(table)).to(DEVICE).eval()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("pack", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--mixture", choices=list(TRIALS), default="everyday")
    parser.add_argument("--labels", type=float, default=0.3)
    main(parser.parse_args())
