// Creates a table and shows that it is there.
// search: run an sql query; list the tables of a sqlite database
await tools.SQLite.query({
  sql: "CREATE TABLE IF NOT EXISTS benchmarks (id INTEGER PRIMARY KEY, name TEXT, score REAL, created_at TEXT)",
});
return await tools.SQLite.list_tables({});
