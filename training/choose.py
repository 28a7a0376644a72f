"""Compares mixtures of the training data by one short run each, on servers that no run sees.

usage: choose.py PACK

Each run trains MiniLM contrastively, like a teacher but for fewer steps. This distinguishes
mixtures to a point or two, in a tenth of the time of a whole student.
"""

import argparse
import pathlib
import sys

from mixtures import TRIALS
from train import Stage, Teacher, load, published, teach

RUN = Teacher("minilm", 3, Stage(400, 1e-4))


def main(pack):
    options = argparse.Namespace(pack=pack, mixture="plain")
    data, tests, log = load(options)
    for trial in TRIALS:
        data.mix(trial)
        model = teach(RUN, published(options, RUN.base), data, log)
        log.report(trial, tests.results(tests.vectors(model)))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
