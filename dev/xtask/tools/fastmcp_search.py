"""Runs FastMCP's BM25 tool search in front of many servers, for the comparison of peers.

Every server is listed once, at the start. FastMCP's own proxy lists all of them again for every
search, which takes several times as long and finds the same.
"""

import asyncio
import json
import sys
from functools import partial

from fastmcp import Client, FastMCP
from fastmcp.server.providers.proxy import ProxyTool
from fastmcp.server.transforms.search import BM25SearchTransform


async def main(servers: dict[str, str], port: int) -> None:
    gateway = FastMCP("bench", transforms=[BM25SearchTransform(max_results=20)])
    for name, url in servers.items():
        async with Client(url) as client:
            for tool in await client.list_tools():
                tool.name = f"{name}__{tool.name}"
                gateway.add_tool(ProxyTool.from_mcp_tool(partial(Client, url), tool))
    await gateway.run_http_async(host="127.0.0.1", port=port, show_banner=False, log_level="error")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        asyncio.run(main(json.load(file), int(sys.argv[2])))
