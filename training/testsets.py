"""The test sets: dev sets by themselves and among distractors, other gateways' public sets, and the
requests for servers that training leaves out.

Each set is (name, tools, requests). A request has `query` and `relevant` tool ids.
"""

import json

from packing import rows

DEV = "azure_mcp pagerduty_mcp toolalpaca_eval workbench tooltalk real_intents".split()
CATALOGS = "toucan_mcp_servers docker_mcp_registry aws_mcp_catalog github_mcp_catalog".split()
# The sets of requests written for real servers.
WRITTEN = "intents intents2".split()
# The name for the requests of `data/` that training leaves out, and the set whose tools they are searched among.
OWN, OWN_AMONG = "own", "intents2"


def all_sets(data, held_out):
    """Yields all sets. `held_out` has the ids of the requests to measure on, by set and kind, and our own
    requests in full."""
    sets = data / "retrieval"
    for name in DEV:
        yield f"{name} @ {name}", *dev(sets, name)
    real = rows(data / "real-mcp-catalog" / "tools.jsonl")
    yield "real_intents @ real", real, dev(sets, "real_intents")[1]
    crowd = crowded(sets)
    for name in ("azure_mcp", "pagerduty_mcp"):
        yield f"{name} @ all", crowd, dev(sets, name)[1]
    yield "mcpproxy @ mcpproxy", *mcpproxy(data / "peers")
    yield "bifrost @ bifrost", *bifrost(data / "peers" / "bifrost")
    for name in WRITTEN:
        tools, queries = (rows(sets / "train" / name / f"{part}.jsonl") for part in ("tools", "queries"))
        for kind, ids in held_out.get(name, {}).items():
            yield f"unseen-{kind} @ {name}", tools, [query for query in queries if query["id"] in set(ids)]
    tools = rows(sets / "train" / OWN_AMONG / "tools.jsonl")
    for kind, queries in held_out.get(OWN, {}).items():
        yield f"unseen-{kind} @ {OWN_AMONG}", tools, queries


def dev(sets, name):
    return rows(sets / "dev" / name / "tools.jsonl"), rows(sets / "dev" / name / "queries.jsonl")


def crowded(sets):
    """Returns Azure and PagerDuty among all catalogs, without exact duplicates."""
    tools = [tool for name in ("azure_mcp", "pagerduty_mcp") for tool in dev(sets, name)[0]]
    tools += [tool for name in CATALOGS for tool in rows(sets / "catalogs" / name / "tools.jsonl")]
    return list({(t["name"], t.get("description"), t.get("server")): t for t in reversed(tools)}.values())[::-1]


def mcpproxy(folder):
    tools = json.loads((folder / "corpus_v1.tools.json").read_text())["tools"]
    tools = [{"id": t["tool_id"], "server": t["server"], "name": t["tool"], "description": t["description"]} for t in tools]
    golden = json.loads((folder / "retrieval_golden_v1.json").read_text())["queries"]
    return tools, [
        {"query": q["query"], "relevant": [label["tool_id"] for label in q["labels"] if label["relevance"] > 0]} for q in golden
    ]


def bifrost(folder):
    """Reads Bifrost's tasks. A task lists its tools and, separately and spelt differently, their servers."""
    tools = json.loads((folder / "round3.json").read_text())
    tools = [{"id": f"{t['server']}:{t['tool_name']}", "server": t["server"], "name": t["tool_name"], "description": t["description"]} for t in tools]
    tasks = json.loads((folder / "eval_tasks_r3.json").read_text())
    return tools, [{"query": task["query"], "relevant": [tool["id"] for tool in tools if expected(tool, task)]} for task in tasks]


def expected(tool, task):
    servers = {server.lower() for server in task["expected_servers"]}
    return tool["name"] in task["expected_tools"] and tool["server"].lower() in servers
