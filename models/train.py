"""Trains the embedder: several teachers on labelled requests, then one small student on all of them.

usage: train.py PACK OUT [--hold-out] [--deadline SECONDS] [--quick]

1. Teachers (MiniLM and gte-small, different seeds) learn request -> tool by contrast within
   large batches.
2. The student, MiniLM again, learns the teachers' agreement: the distribution of similarities
   over tools for every request, labelled or not.
3. The last steps run on rounded weights and activations, so that int8 inference is what was
   trained.

OUT receives student.npz (float tensors), vectors of the evaluation texts, and log.json.
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
from encoder import Encoder
from metrics import measure, summary

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SCALE = 30.0
BATCH = 2048
GROUP = 8
NEIGHBOURS = 32
TWIN_SIMILARITY = 0.88

# How often each kind of request is drawn.
MIXTURE = {
    "intents": 0.36,
    "requests": 0.04,
    "composed": 0.08,
    "weak": 0.12,
    "sentence": 0.04,
    "metatool": 0.08,
    "tldr_cli": 0.08,
    "ultratool": 0.05,
    "sealtools": 0.05,
    "toollinkos": 0.03,
    "toolbench_stable": 0.03,
    "bfcl_v4_nonlive": 0.03,
    "acebench": 0.015,
    "apibank": 0.01,
    "nestful": 0.01,
    "rotbench": 0.005,
}


@dataclasses.dataclass
class Plan:
    base: str
    seed: int
    steps: int
    rate: float
    grouped: bool


TEACHERS = [
    Plan("minilm", 1, 1000, 1e-4, grouped=False),
    Plan("gte", 2, 800, 1e-4, grouped=True),
    Plan("minilm", 3, 1000, 1e-4, grouped=True),
    Plan("gte", 4, 800, 7e-5, grouped=False),
]
STUDENT_STEPS, ROUNDED_STEPS = 1200, 300


def main(options):
    clock = Clock(options.deadline)
    torch.manual_seed(0)
    data = Requests(options.pack / "train.npz", options.hold_out)
    tests = Evaluation(options.pack / "eval.npz")
    log = {}

    def report(name, vectors):
        log[name] = tests.report(vectors)
        print(f"[{clock.now():4.0f}s] {name}\n{summary(log[name])}", flush=True)

    published = {name: Encoder(bases.read(options.pack / f"{name}.npz")).to(DEVICE) for name in ("minilm", "gte")}
    report("published minilm", tests.vectors(published["minilm"]))
    data.find_twins(published["minilm"])

    teachers, ensemble = [], []
    for plan in TEACHERS:
        if clock.left() < 150:
            break
        plan.steps = plan.steps // options.shrink
        model = teach(plan, published[plan.base], data, clock)
        teachers.append(model)
        vectors = tests.vectors(model)
        ensemble.append(vectors)
        report(f"teacher {plan.base} {plan.seed}", vectors)
        if len(ensemble) > 1:
            report(f"ensemble of {len(ensemble)}", torch.cat(ensemble, 1))

    student = Encoder(published["minilm"].named()).to(DEVICE)
    for name in distil(student, Teaching(teachers, data), data, options.shrink, clock):
        report(name, tests.vectors(student))
    save(options.out, student, tests.vectors(student), log)


def teach(plan, base, data, clock):
    """A teacher: each request against the tools of all other requests of its batch."""
    model = Encoder(base.named(), dropout=0.1).to(DEVICE)
    draw = np.random.default_rng(plan.seed)

    def loss():
        batch = data.batch(draw, BATCH, plan.grouped)
        similarity = SCALE * data.texts.embed(model, batch.queries) @ data.texts.embed(model, batch.documents).T
        return contrast(similarity, data.false_negatives(batch))

    return descend(model, loss, plan.steps, plan.rate, clock)


def distil(student, known, data, shrink, clock):
    """The student learns the mean similarities of the teachers, and a little of the labels
    themselves. Yields the name of each stage as it is reached."""
    draw = np.random.default_rng(5)

    def loss():
        batch = data.batch(draw, BATCH, grouped=True)
        extra = known.neighbours(batch, draw)
        tools = torch.cat([batch.tools, extra])
        documents = torch.cat([batch.documents, data.spelling(extra, draw)])
        similarity = SCALE * data.texts.embed(student, batch.queries) @ data.texts.embed(student, documents).T
        wanted = known.similarity(batch.rows, tools)
        labelled = contrast(similarity[:, :BATCH], data.false_negatives(batch))
        return divergence(similarity, wanted) + 0.5 * divergence(similarity.T, wanted.T) + 0.1 * labelled

    descend(student, loss, STUDENT_STEPS // shrink, 1.5e-4, clock)
    yield "student"
    student.quantised = True
    yield "student, rounded afterwards"
    descend(student, loss, ROUNDED_STEPS // shrink, 3e-5, clock)
    yield "student, trained rounded"


def contrast(similarity, excluded):
    """Cross entropy both ways, the diagonal being right."""
    similarity = similarity.masked_fill(excluded, -1e4)
    right = torch.arange(len(similarity), device=similarity.device)
    return F.cross_entropy(similarity, right) + 0.5 * F.cross_entropy(similarity.T, right)


def divergence(similarity, wanted):
    return F.kl_div(similarity.log_softmax(1), wanted.softmax(1), reduction="batchmean")


def descend(model, loss, steps, rate, clock):
    """AdamW with warm-up and linear decay; returns the average of the weights near the end."""
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=True)
    warm = max(1, steps // 15)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, (step + 1) / warm) * max(0.02, 1 - step / steps))
    average = [parameter.detach().clone() for parameter in model.parameters()]
    for step in range(steps):
        value = loss()
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        keep = 0.99 if step > 50 else 0.5
        torch._foreach_lerp_(average, list(model.parameters()), 1 - keep)
        if step % 100 == 0 or step == 20:
            print(f"[{clock.now():4.0f}s] step {step} loss {value.item():.3f}", flush=True)
    with torch.no_grad():
        for parameter, mean in zip(model.parameters(), average):
            parameter.copy_(mean)
    return model.eval()


@dataclasses.dataclass
class Batch:
    rows: torch.Tensor
    tools: torch.Tensor
    queries: torch.Tensor
    documents: torch.Tensor


class Requests:
    """The training requests, drawn in batches."""

    def __init__(self, path, hold_out):
        table = dict(np.load(path))
        self.texts = Texts(table)
        self.query, self.instead, self.variants = (table[key] for key in ("query", "instead", "variants"))
        self.relevant, self.server = table["relevant"], table["server"]
        self.counts = (self.relevant >= 0).sum(1)
        allowed = ~table["held_out"] if hold_out else np.ones(len(self.query), bool)
        self.members, self.groups = {}, {}
        for number, name in enumerate(table["sources"]):
            rows = np.flatnonzero((table["source"] == number) & allowed)
            if len(rows):
                self.members[str(name)] = rows
                self.groups[str(name)] = by_server(rows, self.server[self.relevant[rows, 0]])
        self.names = list(self.members)
        weights = np.array([MIXTURE[name] for name in self.names])
        self.weights = weights / weights.sum()
        self.relevant_gpu = torch.tensor(self.relevant, device=DEVICE)
        self.server_gpu = torch.tensor(self.server, device=DEVICE)

    def batch(self, draw, size, grouped):
        """Rows of the mixture; grouped, several of one server at a time, so that siblings meet."""
        counts = draw.multinomial(size, self.weights)
        rows = np.concatenate([self.some(draw, name, count, grouped) for name, count in zip(self.names, counts)])
        tools = self.relevant[rows, draw.integers(0, self.counts[rows])]
        own = self.instead[rows]
        documents = np.where(own >= 0, own, self.variants[tools, draw.choice(3, size, p=(0.6, 0.2, 0.2))])
        return Batch(gpu(rows), gpu(tools), gpu(self.query[rows]), gpu(documents))

    def some(self, draw, name, count, grouped):
        if not grouped:
            return draw.choice(self.members[name], count)
        order, starts, sizes = self.groups[name]
        picked = draw.integers(0, len(order), -(-count // GROUP))
        group = np.searchsorted(starts, picked, "right") - 1
        inside = draw.integers(0, 1 << 30, (len(picked), GROUP)) % sizes[group][:, None]
        return order[starts[group][:, None] + inside].ravel()[:count]

    def spelling(self, tools, draw):
        chosen = draw.choice(3, len(tools), p=(0.6, 0.2, 0.2))
        return gpu(self.variants[tools.cpu().numpy(), chosen])

    def find_twins(self, model):
        """Vectors by which tools of different servers are recognised as saying the same."""
        self.plain = self.texts.vectors(model, self.variants[:, 0])

    def false_negatives(self, batch):
        """Where a row's request is also answered by a column's tool, the row's own apart."""
        relevant, tools = self.relevant_gpu[batch.rows], batch.tools
        excluded = torch.zeros(len(tools), len(tools), dtype=torch.bool, device=DEVICE)
        for column in range(relevant.shape[1]):
            excluded |= relevant[:, column, None] == tools
        plain, server = self.plain[tools], self.server_gpu[tools]
        elsewhere = (server[:, None] != server) | (server < 0)
        excluded |= elsewhere & (plain @ plain.T > TWIN_SIMILARITY)
        return excluded.fill_diagonal_(False)


class Teaching:
    """What the teachers say about every request and tool."""

    def __init__(self, teachers, data):
        self.requests = [data.texts.vectors(model, data.query) for model in teachers]
        self.tools = [data.texts.vectors(model, data.variants[:, 0]) for model in teachers]
        every = torch.arange(len(self.tools[0]), device=DEVICE)
        rows = torch.arange(len(data.query), device=DEVICE).split(2048)
        self.best = torch.cat([self.similarity(part, every).topk(NEIGHBOURS).indices for part in rows])

    def similarity(self, rows, tools):
        return SCALE * sum(q[rows] @ t[tools].T for q, t in zip(self.requests, self.tools)).float() / len(self.tools)

    def neighbours(self, batch, draw):
        """For each request, one of the tools the teachers rank first."""
        return self.best[batch.rows, gpu(draw.integers(0, NEIGHBOURS, len(batch.rows)))]


class Texts:
    """Token rows on the GPU, embedded in chunks of like length."""

    def __init__(self, table):
        ends = table["ends"].astype(np.int64)
        self.lengths = np.diff(ends, prepend=0)
        self.starts_gpu = torch.tensor(ends - self.lengths, device=DEVICE)
        self.lengths_gpu = torch.tensor(self.lengths, device=DEVICE)
        self.tokens = torch.tensor(np.append(table["tokens"], np.zeros(256, np.uint16)).astype(np.int32), device=DEVICE)

    def embed(self, model, texts, chunks=4, **kwargs):
        lengths = self.lengths[texts.cpu().numpy()]
        order = np.argsort(lengths, kind="stable")
        parts = []
        for part in np.array_split(order, min(chunks, len(order))):
            longest = -(-int(lengths[part].max()) // 8) * 8
            chosen = texts[gpu(part)]
            offsets = torch.arange(longest, device=DEVICE)
            present = offsets < self.lengths_gpu[chosen][:, None]
            tokens = self.tokens[self.starts_gpu[chosen][:, None] + offsets].where(present, 0)
            parts.append(model(tokens, present, **kwargs))
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return torch.cat(parts)[gpu(back)]

    @torch.no_grad()
    def vectors(self, model, texts, dtype=torch.bfloat16):
        model.eval()
        texts = gpu(np.asarray(texts))
        return torch.cat([self.embed(model, part, chunks=16, dtype=dtype) for part in texts.split(16384)]).to(dtype)


class Evaluation:
    """Test sets: a corpus of tools, requests, and which tools answer them."""

    def __init__(self, path):
        self.table = dict(np.load(path))
        self.texts = Texts(self.table)
        self.keys = [key.removeprefix("query ") for key in self.table if key.startswith("query ")]
        self.corpora = [key.removeprefix("corpus ") for key in self.table if key.startswith("corpus ")]

    def vectors(self, model):
        """One vector per distinct text, in full precision."""
        return self.texts.vectors(model, np.arange(len(self.texts.lengths)), torch.float32)

    def report(self, vectors):
        results = {}
        for key in self.keys:
            corpus = key.split(" @ ")[1]
            similarity = vectors[gpu(self.table[f"query {key}"])] @ vectors[gpu(self.table[f"corpus {corpus}"])].T
            best = similarity.topk(min(20, similarity.shape[1])).indices.cpu().numpy()
            results[key] = {"tools": similarity.shape[1], **measure(best, self.table[f"relevant {key}"])}
        return results


class Clock:
    def __init__(self, deadline):
        self.start, self.deadline = time.time(), deadline

    def now(self):
        return time.time() - self.start

    def left(self):
        return self.deadline - self.now()


def by_server(rows, servers):
    """Rows ordered by server, and where each server's run begins and how long it is."""
    order = np.argsort(servers, kind="stable")
    starts = np.flatnonzero(np.diff(servers[order], prepend=-2))
    return rows[order], starts, np.diff(np.append(starts, len(rows)))


def gpu(array):
    return torch.as_tensor(array, device=DEVICE)


def save(out, student, vectors, log):
    out.mkdir(parents=True, exist_ok=True)
    tensors = student.named()
    words = {"word": tensors.pop("word").astype(np.float16)}
    np.savez_compressed(out / "student-words.npz", **words)
    np.savez_compressed(out / "student-layers.npz", **{name: tensor.astype(np.float16) for name, tensor in tensors.items()})
    np.savez_compressed(out / "vectors.npz", vectors=vectors.half().cpu().numpy())
    (out / "log.json").write_text(json.dumps(log))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("pack", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--hold-out", action="store_true", help="train without the requests kept for fitting the fusion")
    parser.add_argument("--deadline", type=float, default=560)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--shrink", type=int, default=1, help="divide every number of steps, to try the script")
    options = parser.parse_args()
    BATCH = options.batch
    main(options)
