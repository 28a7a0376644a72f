// Creates a document with a table of three rows.
// search: create a google doc; insert a table into a google doc; insert text into a google doc
const { documentId } = await tools.GoogleDocs.GOOGLEDOCS_CREATE_DOCUMENT({ title: "MCP Server Inventory", text: "" });
await tools.GoogleDocs.GOOGLEDOCS_INSERT_TABLE_ACTION({ documentId, rows: 3, columns: 2, index: 1 });
const cells = ["Server", "Tool Count", "FileSystem", "14", "GitHub", "44"];
// The cells of an empty table lie two apart, and rows one further; from the last, so that none moves.
for (let cell = cells.length - 1; cell >= 0; cell--) {
  await tools.GoogleDocs.GOOGLEDOCS_INSERT_TEXT_ACTION({
    document_id: documentId, insertion_index: 5 + 2 * cell + Math.floor(cell / 2), text_to_insert: cells[cell],
  });
}
return { documentId, cells: cells.length };
