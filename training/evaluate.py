"""Measures a model on the test sets: by meaning, by words, by both, and by both with steps.

usage: evaluate.py DATA PACK MODEL [SET…]
  MODEL  kitbag-embedder.bin, computed with reference.py (slow: only for a few sets), or the output
         folder of a training run
  SET    a name from testsets.py, e.g. "real_intents @ real"; default all
"""

import json
import pathlib
import sys

import numpy as np

import bases
import testsets
from clauses import clauses
from document import collapse
from fusion import fused, with_steps
from lexical import Lexicon
from metrics import measure, summary
from reference import Embedder


def main(data, pack, model, *chosen):
    results = {}
    held_out = json.loads((pack / "held-out.json").read_text())
    for case in cases(data, pack, model, held_out, chosen):
        for ranker, scores in case.rankings().items():
            results.setdefault(ranker, {})[case.name] = case.measured(scores)
    for ranker, rows in results.items():
        print(f"{ranker}\n{summary(rows)}")


def cases(data, pack, model, held_out, chosen=()):
    table = dict(np.load(pack / "eval.npz"))
    vectors = Vectors(table, model)
    for name, tools, queries in testsets.all_sets(data, held_out):
        if not chosen or name in chosen:
            yield Case(name, tools, queries, table, vectors)


class Case:
    """A test set with all the scores that its rankings need."""

    def __init__(self, name, tools, queries, table, vectors):
        known = {tool["id"] for tool in tools}
        requests = [collapse(q["query"]) for q in queries if known.intersection(q["relevant"])]
        lexicon, corpus = Lexicon(tools), vectors[table[f"corpus {name.split(' @ ')[1]}"]]
        self.name = name
        self.relevant = table[f"relevant {name}"]
        self.cosine = vectors[table[f"query {name}"]] @ corpus.T
        self.words = lexicon.scores(requests)
        self.steps = {}
        for row, request in enumerate(requests):
            numbers = table[f"clauses {name}"][row]
            if steps := clauses(request):
                self.steps[row] = vectors[numbers[numbers >= 0]] @ corpus.T, lexicon.scores(steps)

    def rankings(self):
        both = fused(self.cosine, self.words)
        stepwise = both.copy()
        for row, parts in self.steps.items():
            stepwise[row] = with_steps(both[row], fused(*parts))
        return {"words": self.words, "meaning": self.cosine, "both": both, "both, with steps": stepwise}

    def measured(self, scores):
        best = np.argsort(-scores, axis=1, kind="stable")[:, :20]
        return {"tools": scores.shape[1], **measure(best, self.relevant)}


class Vectors:
    """Vectors by text number, from a training run or computed on demand."""

    def __init__(self, table, model):
        self.ends = np.append(0, table["ends"])
        self.tokens = table["tokens"]
        self.known = dict(enumerate(vectors_of(model))) if model.is_dir() else {}
        self.embedder = None if self.known else Embedder(model)

    def __getitem__(self, numbers):
        found = np.stack([self.vector(int(number)) for number in numbers])
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def vector(self, number):
        if number not in self.known:
            self.known[number] = self.embedder.forward(self.tokens[self.ends[number] : self.ends[number + 1]].tolist())
        return self.known[number]


def vectors_of(run):
    return np.concatenate([bases.read(path)["vectors"] for path in sorted(run.glob("vectors-*.npz"))])


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:4]), *sys.argv[4:])
