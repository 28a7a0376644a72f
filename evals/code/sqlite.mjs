// A server over stdio for one SQLite file, with the tools that the tasks expect of theirs.
//
// node sqlite.mjs DATABASE TOOLS: the definitions are read from TOOLS, a list of
// {server, tool_name, description}, because the names and descriptions are not ours.

import { readFileSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";

const [path, definitions] = process.argv.slice(2);
const database = new DatabaseSync(path);

const methods = { initialize, "tools/list": list, "tools/call": call, ping: () => ({}) };

const tools = {
  db_info: () => ({ path, exists: true, size: statSync(path).size, tableCount: tables().length }),
  query: ({ sql, values = [] }) => database.prepare(sql).all(...values),
  list_tables: tables,
  get_table_schema: ({ tableName }) => database.prepare("SELECT * FROM pragma_table_info(?)").all(tableName),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer(method, params) })}\n`);
}

function answer(method, params) {
  const serve = methods[method];
  return serve ? { result: serve(params) } : { error: { code: -32601, message: `${method} is not served here` } };
}

function initialize({ protocolVersion }) {
  return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "sqlite", version: "1.0.0" } };
}

function list() {
  const listed = JSON.parse(readFileSync(definitions, "utf8")).filter(tool => tool.server === "SQLite");
  return { tools: listed.map(tool => ({
    name: tool.tool_name, description: tool.description, inputSchema: schema(tool.tool_name),
  })) };
}

function call({ name, arguments: args = {} }) {
  try {
    return { content: [{ type: "text", text: JSON.stringify(tools[name](args)) }] };
  } catch (error) {
    return { content: [{ type: "text", text: String(error.message) }], isError: true };
  }
}

function tables() {
  return database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
}

function schema(name) {
  const properties = {
    query: { sql: { type: "string" }, values: { type: "array", items: {} } },
    get_table_schema: { tableName: { type: "string" } },
  }[name];
  const required = { query: ["sql"], get_table_schema: ["tableName"] }[name];
  return properties ? { type: "object", properties, required } : { type: "object" };
}
