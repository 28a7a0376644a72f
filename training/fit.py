"""Evaluates the two weights of the fusion on requests that the model has not seen.

usage: fit.py DATA PACK VECTORS
  VECTORS  the output folder of a training run

Prints the mean nDCG@10 over the requests for unseen servers, for each pair of weights.
"""

import json
import pathlib
import sys

import numpy as np

import fusion
from evaluate import cases

LEXICAL = (0.0, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008)
STEP_BONUS = (0.0, 0.05, 0.1, 0.15, 0.2)


def main(data, pack, vectors):
    held_out = json.loads((pack / "held-out.json").read_text())
    names = {f"unseen-{kind} @ {name}" for name, kinds in held_out.items() for kind in kinds}
    unseen = list(cases(data, pack, vectors, held_out, names))
    print("lexical weight, then one column per step bonus", *STEP_BONUS)
    for fusion.LEXICAL in LEXICAL:
        print(fusion.LEXICAL, *(f"{mean(unseen, bonus):.4f}" for bonus in STEP_BONUS))


def mean(unseen, bonus):
    fusion.STEP_BONUS = bonus
    return np.mean([case.measured(case.rankings()["both, with steps"])["ndcg10"] for case in unseen])


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
