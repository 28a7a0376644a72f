"""Trains the embedder: first several teachers on labelled requests, then one small student on the teachers.

usage: train.py teachers PACK WORK [--mixture NAME]
       train.py student PACK WORK OUT [--mixture NAME]

1. Teachers (gte-small and MiniLM, with different seeds) learn request -> tool contrastively, in
   large batches. Their weights are written to WORK.
2. The student starts from the MiniLM teacher and learns the mean similarities of all teachers over
   tools for every request, labelled or not.
3. It continues with the scores of cross_encoder.py in WORK.
4. The last steps run on rounded weights and activations, so that training matches int8 inference.

OUT receives the student (two files, int8 with a scale per row), the vectors of the evaluation
texts (in parts), and log.json.
"""

import argparse
import dataclasses
import json
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

import bases
from batches import DEVICE, Requests, Texts, gpu
from encoder import Encoder
from metrics import measure, summary
from mixtures import TRIALS
from teaching import OPINIONS, SCALE, CorrectedTeaching, Teaching

WARM_UP = 60
# The number of files with vectors, so that each is small enough to copy.
VECTOR_PARTS = 2


@dataclasses.dataclass
class Stage:
    """A training run: the number of steps, the learning rate, and the requests per step."""

    steps: int
    rate: float
    batch: int = 2048


@dataclasses.dataclass
class Teacher:
    base: str
    seed: int
    stage: Stage


TEACHERS = [
    Teacher("minilm", 3, Stage(750, 1e-4)),
    Teacher("gte", 2, Stage(800, 1e-4)),
    Teacher("gte", 4, Stage(400, 1.2e-4, batch=4096)),
]
# The teacher whose weights the student starts from.
PUPIL = "teacher-minilm-3.npz"
STUDENT, CORRECTED, ROUNDED = Stage(3000, 1.5e-4), Stage(1400, 1.5e-4), Stage(450, 4e-5)


def teachers(options):
    data, tests, log = load(options)
    options.work.mkdir(parents=True, exist_ok=True)
    found = []
    for teacher in TEACHERS:
        model = teach(teacher, published(options, teacher.base), data, log)
        np.savez(options.work / f"teacher-{teacher.base}-{teacher.seed}.npz", **model.named())
        found.append(tests.vectors(model))
        log.report(f"teacher {teacher.base} {teacher.seed}", tests.results(found[-1]))
        if len(found) > 1:
            log.report(f"the first {len(found)} teachers together", tests.results(torch.cat(found, 1)))


def student(options):
    data, tests, log = load(options)
    known = Teaching.from_folder(options.work, data)
    model = distil(Encoder(np.load(options.work / PUPIL)).to(DEVICE), known, data, STUDENT, log)
    log.report("student of the teachers", tests.results(tests.vectors(model)))
    known = CorrectedTeaching(known, np.load(options.work / OPINIONS))
    distil(model, known, data, CORRECTED, log)
    log.report("student of the cross-encoder, too", tests.results(tests.vectors(model)))
    model.quantized = True
    log.report("student, rounded afterwards", tests.results(tests.vectors(model)))
    distil(model, known, data, ROUNDED, log)
    vectors = tests.vectors(model)
    log.report("student, trained rounded", tests.results(vectors))
    save(options.out, model, vectors, log)


def load(options):
    torch.manual_seed(0)
    data = Requests(options.pack / "train.npz")
    data.mix(options.mixture)
    data.find_twins(published(options, "minilm"))
    return data, Evaluation(options.pack / "eval.npz"), Log()


def published(options, name):
    return Encoder(bases.read(options.pack / f"{name}.npz")).to(DEVICE)


def teach(teacher, base, data, log):
    """Trains on each request with its tool as the right one among the tools of its batch."""
    model = Encoder(base.named(), dropout=0.1).to(DEVICE)
    draw = np.random.default_rng(teacher.seed)
    size = teacher.stage.batch

    def loss():
        batch = data.batch(draw, size)
        found = data.texts.embed(model, np.concatenate([batch.queries, batch.documents]))
        return contrast(SCALE * found[:size] @ found[size:].T, data.false_negatives(batch))

    return descend(model, loss, teacher.stage, log)


def distil(student, known, data, stage, log):
    """Trains on the similarities of the teachers, and a little on the labels themselves."""
    draw = np.random.default_rng(5)
    size = stage.batch

    def loss():
        batch = data.batch(draw, size)
        near = known.neighbours(batch.rows, draw)
        found = data.texts.embed(student, np.concatenate([batch.queries, batch.documents, data.spelling(draw, near)]))
        similarity = SCALE * found[:size] @ found[size:].T
        wanted = known.similarity(batch.rows, np.concatenate([batch.tools, near]))
        labelled = contrast(similarity[:, :size], data.false_negatives(batch))
        return divergence(similarity, wanted) + 0.5 * divergence(similarity.T, wanted.T) + 0.1 * labelled

    return descend(student, loss, stage, log)


def contrast(similarity, excluded):
    """Cross entropy in both directions, with the diagonal as the right answers."""
    similarity = similarity.masked_fill(excluded, -1e4)
    right = torch.arange(len(similarity), device=DEVICE)
    return F.cross_entropy(similarity, right) + 0.5 * F.cross_entropy(similarity.T, right)


def divergence(similarity, wanted):
    return F.kl_div(similarity.log_softmax(1), wanted.softmax(1), reduction="batchmean")


def descend(model, loss, stage, log):
    """Runs AdamW with warm-up and linear decay. The result is the average of the last weights."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=stage.rate, weight_decay=0.01, fused=True)
    average = [parameter.detach().clone() for parameter in model.parameters()]
    for step in range(stage.steps):
        for group in optimizer.param_groups:
            group["lr"] = stage.rate * min(1, (step + 1) / WARM_UP, max(0.02, 1 - step / stage.steps))
        value = loss()
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        torch._foreach_lerp_(average, list(model.parameters()), 0.01 if step > 50 else 0.5)
        if step % 200 == 0:
            log.say(f"step {step} of {stage.steps} loss {value.item():.3f}")
    with torch.no_grad():
        for parameter, mean in zip(model.parameters(), average):
            parameter.copy_(mean)
    return model.eval()


class Evaluation:
    """The test sets: corpora of tools, requests, and the tools that answer them."""

    def __init__(self, path):
        self.table = dict(np.load(path))
        self.texts = Texts(self.table)
        self.names = [key.removeprefix("query ") for key in self.table if key.startswith("query ")]

    def vectors(self, model):
        """Returns one vector per distinct text, in full precision."""
        return self.texts.vectors(model, np.arange(len(self.texts.lengths)), torch.float32)

    def results(self, vectors):
        return {name: self.result(name, vectors) for name in self.names}

    def result(self, name, vectors):
        tools = vectors[gpu(self.table[f"corpus {name.split(' @ ')[1]}"])]
        similarity = vectors[gpu(self.table[f"query {name}"])] @ tools.T
        best = similarity.topk(min(20, len(tools))).indices.cpu().numpy()
        return {"tools": len(tools), **measure(best, self.table[f"relevant {name}"])}


class Log:
    def __init__(self):
        self.start, self.results = time.time(), {}

    def say(self, text):
        print(f"[{time.time() - self.start:4.0f}s] {text}", flush=True)

    def report(self, name, results):
        self.results[name] = results
        self.say(f"{name}\n{summary(results)}")


def save(out, model, vectors, log):
    out.mkdir(parents=True, exist_ok=True)
    tensors = model.named()
    bases.write(out / "student-words.npz", {"word": tensors.pop("word")})
    bases.write(out / "student-layers.npz", tensors)
    for number, part in enumerate(np.array_split(vectors.cpu().numpy(), VECTOR_PARTS)):
        bases.write(out / f"vectors-{number}.npz", {"vectors": part})
    (out / "log.json").write_text(json.dumps(log.results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["teachers", "student"])
    parser.add_argument("pack", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path, nargs="?")
    parser.add_argument("--mixture", choices=list(TRIALS), default="plain")
    given = parser.parse_args()
    {"teachers": teachers, "student": student}[given.what](given)
