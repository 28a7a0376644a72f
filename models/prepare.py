"""Packs what the GPU machine needs: tokenised requests and tool texts, and the base weights.

usage: prepare.py DATA BASES PACK
  DATA   folder with retrieval/{train,dev,catalogs} and real-mcp-catalog/
  BASES  folder with minilm/model.safetensors, gte/model.onnx and vocab.txt
  PACK   where train.npz, eval.npz, minilm.npz and gte.npz go

Everything is tokenised here, so training needs neither a tokenizer nor the texts. Requests
for the tools of a dev set, and the tools of the servers behind dev/real_intents, stay out of
training altogether.
"""

import json
import pathlib
import random
import re
import sys
import zlib

import numpy as np

import bases
from document import collapse, document, provider_words, words
from wordpiece import WordPiece

QUERY_TOKENS = 64
TEXT_TOKENS = 128
MAX_RELEVANT = 8
COMPOSED = 9000

LABELLED = (
    "intents metatool tldr_cli ultratool sealtools toollinkos toolbench_stable acebench apibank rotbench nestful bfcl_v4_nonlive"
).split()
CATALOGS = "toucan_mcp_servers docker_mcp_registry aws_mcp_catalog github_mcp_catalog".split()
DEV = "azure_mcp pagerduty_mcp toolalpaca_eval workbench tooltalk real_intents".split()

# Tags of these sets say how the set was made, not what the tool does.
MEANINGLESS_TAGS = {"nestful", "tldr_cli"}

# Left out of a run that is to fit or choose something on requests the model has not seen.
HELD_OUT_SETS = {"acebench", "apibank", "rotbench", "nestful"}
HELD_OUT_SHARE = 0.12


def main(data, base_folder, pack):
    pack.mkdir(parents=True, exist_ok=True)
    random.seed(7)
    texts = Texts(WordPiece.read(base_folder / "vocab.txt"))
    training = Training(texts)
    collect(data, training)
    training.write(pack / "train.npz")
    write_evaluation(data, training, texts, pack / "eval.npz")
    for name, tensors in (("minilm", bases.minilm(base_folder)), ("gte", bases.gte(base_folder))):
        bases.write(pack / f"{name}.npz", tensors)


def collect(data, training):
    sets = data / "retrieval"
    dev = rows(sets / "dev" / "real_intents" / "tools.jsonl")
    hidden_servers, hidden_texts = {tool["server"] for tool in dev}, {text_key(tool) for tool in dev}
    for name in LABELLED:
        tools = {tool["id"]: tool for tool in rows(sets / "train" / name / "tools.jsonl")}
        if name in MEANINGLESS_TAGS:
            tools = {id: {**tool, "tags": None} for id, tool in tools.items()}
        for query in rows(sets / "train" / name / "queries.jsonl"):
            gold = [tools[id] for id in query["relevant"] if id in tools]
            training.add(name, query["query"], gold)
    for request in own_requests():
        training.add("requests", request["query"], request["tools"])
    training.compose()
    catalogs = [sets / "catalogs" / name for name in CATALOGS] + [data / "real-mcp-catalog"]
    for folder in catalogs:
        tools = rows(folder / "tools.jsonl")
        add_weak(training, [t for t in tools if t["server"] not in hidden_servers and text_key(t) not in hidden_texts])


def text_key(tool):
    return tool["name"], collapse(tool.get("description") or "")


def own_requests():
    """Requests written for this model; each line brings the tool it asks for."""
    for path in sorted((pathlib.Path(__file__).parent / "data").glob("*.jsonl")):
        yield from rows(path)


def add_weak(training, tools):
    """Pairs nobody wrote: a first sentence and the rest, a name and what it describes."""
    for tool in {(t["name"], t.get("description")): t for t in tools}.values():
        training.register(tool)
        text = collapse(tool.get("description") or "")
        if len(text) < 25:
            continue
        first, *rest = re.split(r"(?<=[.!?:;])\s", text)
        rest = " ".join(rest)
        provider = " ".join(provider_words(server_name(tool)))
        spoken = " ".join(words(tool["name"]))
        if len(rest) > 40:
            training.add("weak", first[:300], [tool], document(plain({**tool, "description": rest})))
            training.add("sentence", re.split(r"(?<=[.!?:;])\s", rest)[0][:300], [tool])
        if random.random() < 0.5:
            where = f" {random.choice(('in', 'with', 'on', 'using'))} {provider}" if provider and random.random() < 0.5 else ""
            training.add("weak", spoken + where, [tool], document(plain({**tool, "name": ""})))
        if random.random() < 0.3:
            training.add("sentence", first[:300], [tool])


class Training:
    """Requests, the tools they ask for, and the texts of both."""

    def __init__(self, texts):
        self.texts = texts
        self.tools, self.servers = {}, {}
        self.variants, self.tool_servers = [], []
        self.queries = []

    def register(self, tool):
        """The number of a tool. Tools that say the same are the same."""
        key = (*text_key(tool), server_name(tool).lower())
        if key not in self.tools:
            self.tools[key] = len(self.variants)
            self.variants.append([self.texts.add(text, TEXT_TOKENS) for text in spellings(tool)])
            server = tool.get("server")
            self.tool_servers.append(self.servers.setdefault(server, len(self.servers)) if server else -1)
        return self.tools[key]

    def add(self, source, query, tools, instead=None):
        """A request and the tools that answer it; `instead` replaces the tool's own text."""
        query = collapse(query)[:1000]
        if not tools or not query:
            return
        relevant = list(dict.fromkeys(self.register(tool) for tool in tools))[:MAX_RELEVANT]
        text = -1 if instead is None else self.texts.add(instead, TEXT_TOKENS)
        self.queries.append((source, query, relevant, text))

    def compose(self):
        """Multi-step requests out of single ones, half of them within one server."""
        single = [(query, relevant) for source, query, relevant, _ in self.queries if source in ("intents", "requests")]
        at = {}
        for query, relevant in single:
            at.setdefault(self.tool_servers[relevant[0]], []).append((query, relevant))
        for _ in range(COMPOSED):
            count = random.choice((2, 2, 2, 3, 3, 4))
            first = random.choice(single)
            near = at[self.tool_servers[first[1][0]]]
            pool = near if random.random() < 0.5 and len(near) >= 2 * count else single
            steps = [first] + random.sample(pool, count - 1)
            relevant = list(dict.fromkeys(tool for step in steps for tool in step[1][:3]))[:MAX_RELEVANT]
            self.queries.append(("composed", sentence([step[0] for step in steps]), relevant, -1))

    def write(self, path):
        names = sorted({source for source, *_ in self.queries})
        relevant = np.full((len(self.queries), MAX_RELEVANT), -1, np.int32)
        for row, (_, _, tools, _) in enumerate(self.queries):
            relevant[row, : len(tools)] = tools
        table = {
            "sources": np.array(names),
            "source": np.array([names.index(source) for source, *_ in self.queries], np.uint8),
            "query": np.array([self.texts.add(query, QUERY_TOKENS) for _, query, _, _ in self.queries], np.int32),
            "relevant": relevant,
            "instead": np.array([text for *_, text in self.queries], np.int32),
            "held_out": np.array([self.held_out(*query[:3]) for query in self.queries]),
            "variants": np.array(self.variants, np.int32),
            "server": np.array(self.tool_servers, np.int32),
        }
        np.savez_compressed(path, **table, **self.texts.table())
        for name in names:
            print(f"{name:18s} {(table['source'] == names.index(name)).sum():6d} requests")
        print(f"{len(self.variants)} tools, {len(self.texts.tokens)} texts, {table['held_out'].sum()} requests can be held out")

    def held_out(self, source, query, tools):
        """Whole servers and whole sets, so that nothing about the tool was seen either."""
        if source in HELD_OUT_SETS:
            return True
        if source in LABELLED and source != "intents":
            return False
        servers = {self.tool_servers[tool] for tool in tools} - {-1}
        return any(share(f"server {server}") < HELD_OUT_SHARE for server in servers)


def write_evaluation(data, training, texts_of_training, path):
    """Dev sets, each alone and among distractors, and the part of training that can be held out."""
    sets, texts = data / "retrieval", Texts(texts_of_training.tokenizer)
    table, corpora = {}, {}

    def corpus(name, tools):
        tools = list({(t["name"], t.get("description"), t.get("server")): t for t in tools}.values()) if name == "all" else tools
        corpora[name] = {tool["id"]: row for row, tool in enumerate(tools)}
        table[f"corpus {name}"] = np.array([texts.add(document(tool), TEXT_TOKENS) for tool in tools], np.int32)

    def evaluation(name, corpus_name, queries):
        index = corpora[corpus_name]
        queries = [q for q in queries if any(id in index for id in q["relevant"])]
        relevant = np.full((len(queries), 16), -1, np.int32)
        for row, query in enumerate(queries):
            gold = [index[id] for id in query["relevant"] if id in index][:16]
            relevant[row, : len(gold)] = gold
        table[f"query {name} @ {corpus_name}"] = np.array([texts.add(collapse(q["query"]), TEXT_TOKENS) for q in queries], np.int32)
        table[f"relevant {name} @ {corpus_name}"] = relevant

    for name in DEV:
        corpus(name, rows(sets / "dev" / name / "tools.jsonl"))
        evaluation(name, name, rows(sets / "dev" / name / "queries.jsonl"))
    corpus("real", rows(data / "real-mcp-catalog" / "tools.jsonl"))
    evaluation("real_intents", "real", rows(sets / "dev" / "real_intents" / "queries.jsonl"))
    everything = [tool for name in ("azure_mcp", "pagerduty_mcp") for tool in rows(sets / "dev" / name / "tools.jsonl")]
    everything += [tool for name in CATALOGS for tool in rows(sets / "catalogs" / name / "tools.jsonl")]
    corpus("all", everything)
    for name in ("azure_mcp", "pagerduty_mcp"):
        evaluation(name, "all", rows(sets / "dev" / name / "queries.jsonl"))
    for name in ("intents", "acebench", "apibank", "rotbench", "nestful"):
        tools = rows(sets / "train" / name / "tools.jsonl")
        corpus(f"fit-{name}", tools)
        by_id = {tool["id"]: tool for tool in tools}
        queries = rows(sets / "train" / name / "queries.jsonl")
        held = [q for q in queries if training.held_out(name, "", [training.register(by_id[id]) for id in q["relevant"] if id in by_id])]
        evaluation(f"fit-{name}", f"fit-{name}", held)
    np.savez_compressed(path, **table, **texts.table())
    print({key: value.shape for key, value in table.items() if not key.startswith("relevant")})


class Texts:
    """Every distinct text once, as token numbers."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.numbers, self.tokens = {}, []

    def add(self, text, limit):
        key = (text, limit)
        if key not in self.numbers:
            self.numbers[key] = len(self.tokens)
            self.tokens.append(np.array(self.tokenizer.encode(text, limit), np.uint16))
        return self.numbers[key]

    def table(self):
        lengths = np.array([len(tokens) for tokens in self.tokens])
        return {"tokens": np.concatenate(self.tokens), "ends": np.cumsum(lengths).astype(np.int32)}


def spellings(tool):
    """Three texts of one tool: as deployed, with what was declared, and with little known."""
    bare = {key: tool.get(key) for key in ("name", "description")}
    noisy = {**tool, "tags": None} if tool.get("server") != server_name(tool) else bare
    return document(plain(tool)), document(declared(tool)), document(noisy)


def plain(tool):
    return {**tool, "server": server_name(tool), "tags": None}


def declared(tool):
    return {**tool, "server": server_name(tool)}


def server_name(tool):
    """Crawled listings number their servers and fold the owner in: `cf_12.@owner_name` -> name."""
    server = re.sub(r"^[a-z]{2}_\d+\.", "", tool.get("server") or "")
    return re.sub(r"^@[^_/]+[_/]", "", server)


def sentence(steps):
    """One request out of several."""
    style = random.random()
    if style < 0.35:
        text = steps[0].rstrip(".?!")
        for step in steps[1:]:
            text += random.choice((", then ", " and then ", " and ", ", and also ", "; afterwards ", ", next ")) + lowered(step)
        return text
    if style < 0.75:
        return " ".join(random.choice(("", "", "Then ", "Also, ", "After that, ")) + step.rstrip(".") + "." for step in steps)
    return "; ".join(steps) if style < 0.9 else " ".join(f"{n}. {step}" for n, step in enumerate(steps, 1))


def lowered(step):
    return step[0].lower() + step[1:].rstrip(".")


def share(key):
    """A fixed number in 0..1 for a key."""
    return zlib.crc32(key.encode()) / 2**32


def rows(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
