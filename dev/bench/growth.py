#!/usr/bin/env python3
"""Measures what one more tool costs a gateway that already has many.

    python3 dev/bench/growth.py target/release/kitbag [1000 10000 50000]

One process plays servers of fifty tools each. When the gateway has embedded all of them, one server
announces one more tool. Printed: the gateway's processor time until it is idle again and the
embedding of the tool as its own figure, and the gateway's memory.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PER_SERVER = 50
VERBS = "list get create update delete search send read write export import merge close open archive".split()
NOUNS = "invoice ticket order customer branch commit page file folder event contact report image table row".split()
PLACES = "in the shop|of a project|in the archive|for a team|on the board|in a mailbox|of last month".split("|")
TICK = os.sysconf("SC_CLK_TCK")


def tool(number):
    pick = random.Random(number).choice
    verb, noun, other = pick(VERBS), pick(NOUNS), pick(NOUNS)
    return {
        "name": f"{verb}_{noun}_{number}",
        "description": f"{verb.title()}s the {noun} {pick(PLACES)}, with its {other}, by number {number % 97}.",
        "inputSchema": {"type": "object", "properties": {noun: {"type": "string"}}},
    }


class Servers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    added = 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(405, b"", "text/plain")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        request = json.loads(body)
        server = int(self.path.split("/")[1])
        if "id" not in request:
            return self.answer(202, b"", "application/json")
        method, events = request["method"], []
        if method == "initialize":
            result = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": f"s{server}", "version": "1"},
            }
        elif method == "tools/list":
            first = server * PER_SERVER
            tools = [tool(first + at) for at in range(PER_SERVER)]
            if server == 0:
                tools += [tool(10_000_000 + at) for at in range(Servers.added)]
            result = {"tools": tools}
        elif method == "tools/call":
            Servers.added += 1
            events.append({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            result = {"content": [{"type": "text", "text": "grown"}]}
        elif method == "ping":
            result = {}
        else:
            error = {"code": -32601, "message": "unknown method"}
            reply = {"jsonrpc": "2.0", "id": request["id"], "error": error}
            return self.answer(200, json.dumps(reply).encode(), "application/json")
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        if events:
            text = "".join(f"data: {json.dumps(event)}\n\n" for event in events + [reply])
            return self.answer(200, text.encode(), "text/event-stream")
        self.answer(200, json.dumps(reply).encode(), "application/json")

    def answer(self, status, body, kind):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def wait_until_idle(pid):
    """Returns the processor time at which the process used less than a tick in a second."""
    before = processor_seconds(pid)
    while True:
        time.sleep(1)
        now = processor_seconds(pid)
        if now - before < 2 / TICK:
            return now
        before = now


def call(origin, tool_name):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool_name, "arguments": {}}}
    body["params"]["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "growth", "version": "1"},
    }
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool_name,
    }
    request = urllib.request.Request(f"{origin}/mcp/all", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def measure(kitbag, tools, port):
    Servers.added = 0
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "kitbag.toml")
        table = '[servers.s{0}]\nurl = "http://127.0.0.1:{1}/{0}/mcp"\n'
        config.write_text("".join(table.format(at, port) for at in range(tools // PER_SERVER)))
        options = ["--config", config, "--data-dir", f"{folder}/data", "--log", "error"]
        begin = time.monotonic()
        subprocess.run([kitbag, *options, "index", "build"], check=True, stdout=subprocess.DEVNULL)
        built = time.monotonic() - begin
        serve = [kitbag, *options, "--json", "serve", "--bind", "127.0.0.1:0"]
        gateway = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
        try:
            banner = ""
            while not banner.rstrip().endswith("}") or banner.count("{") != banner.count("}"):
                banner += gateway.stdout.readline()
            origin = json.loads(banner)["endpoint"].rsplit("/", 1)[0]
            wait_until_idle(gateway.pid)
            costs = []
            for _ in range(4):
                before = processor_seconds(gateway.pid)
                assert "grown" in call(origin, f"s0__{tool(0)['name']}")
                costs.append(wait_until_idle(gateway.pid) - before)
            resident = int(Path(f"/proc/{gateway.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        finally:
            gateway.terminate()
            gateway.wait()
    # The first change also opens the connection to its server.
    costs = sorted(costs[1:])
    print(f"{tools:>7} tools: built in {built:6.1f} s, one more tool {costs[1]:.2f} s, {resident / 1e6:.0f} MB", flush=True)


def main():
    kitbag, sizes = sys.argv[1], [int(size) for size in sys.argv[2:]] or [1_000, 10_000, 50_000]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Servers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for size in sizes:
        measure(kitbag, size, server.server_port)


main()
