"""Drives the official Python client, one JSON step per line on stdin, one JSON event per line on stdout.

    python_client.py MODE http URL
    python_client.py MODE stdio COMMAND [ARGUMENT…]

MODE is `auto`, `legacy` or a modern revision. The steps are the same for every client here:
{"list": true} and {"call": NAME, "arguments": {…}, "cancel_at_progress": BOOL}.
"""

import json
import sys

import anyio
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters


def emit(**event):
    print(json.dumps(event), flush=True)


def target(kind, rest):
    if kind == "http":
        return rest[0]
    return StdioServerParameters(command=rest[0], args=rest[1:])


async def list_tools(client):
    names, cursor = [], None
    while True:
        # A test that lists twice expects to see changes.
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if not cursor:
            emit(tools=names)
            return


async def call(client, step):
    scope = anyio.CancelScope()

    async def on_progress(progress, total, message):
        emit(progress={"progress": progress, "total": total, "message": message})
        if step.get("cancel_at_progress"):
            scope.cancel()

    with scope:
        result = await client.call_tool(step["call"], step.get("arguments"), progress_callback=on_progress)
        emit(result=result.model_dump(mode="json", by_alias=True, exclude_none=True))
    if scope.cancelled_caught:
        emit(cancelled=True)


async def perform(client, step):
    try:
        if "list" in step:
            await list_tools(client)
        else:
            await call(client, step)
    except MCPError as error:
        emit(error=str(error))


async def main(mode, kind, *rest):
    async with Client(target(kind, rest), mode=mode) as client:
        emit(connected=client.protocol_version)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            await perform(client, json.loads(line))


anyio.run(main, *sys.argv[1:])
