// Stores the styles of a Figma file in a table.
// search: styles of a figma file; run an sql query
const { meta } = await tools.Figma.FIGMA_GET_FILE_STYLES({ file_key: "T3lhb4UthzEXNtMySEySWZ" });
await tools.SQLite.query({ sql: "CREATE TABLE IF NOT EXISTS figma_styles (name TEXT, style_type TEXT, key TEXT)" });
await tools.SQLite.query({
  sql: `INSERT INTO figma_styles VALUES ${meta.styles.map(() => "(?, ?, ?)").join(", ")}`,
  values: meta.styles.flatMap(style => [style.name, style.style_type, style.key]),
});
return { stored: meta.styles.length };
