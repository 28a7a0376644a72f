// Describes the tables of the database in a document.
// search: sqlite database info; list the tables of a sqlite database; table schema; create a google doc
const [info, tables] = await Promise.all([tools.SQLite.db_info({}), tools.SQLite.list_tables({})]);
const names = tables.map(table => table.name);
const schemas = await Promise.all(names.map(tableName => tools.SQLite.get_table_schema({ tableName })));
const text = names.map((name, at) =>
  `${name}\n` + schemas[at].map(column => `  ${column.name} ${column.type}`).join("\n")).join("\n\n");
const created = await tools.GoogleDocs.GOOGLEDOCS_CREATE_DOCUMENT({ title: "Database Schema", text });
return { id: created.documentId, tables: names.length, database: info.path };
