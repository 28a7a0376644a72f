// Creates a document with a sentence in it.
// search: create a google doc
const created = await tools.GoogleDocs.GOOGLEDOCS_CREATE_DOCUMENT({
  title: "R3 Benchmark Notes",
  text: "Round 3 benchmark testing with 16 MCP servers and 500+ tools.",
});
return { id: created.documentId, title: created.title };
