// Saves the text of a document to a local file.
// search: search google docs by name; plain text of a google doc; write a file
const { documents } = await tools.GoogleDocs.GOOGLEDOCS_SEARCH_DOCUMENTS({ query: "name = 'R3 Benchmark Notes'" });
const doc = documents.find(it => it.name === "R3 Benchmark Notes") ?? documents[0];
const { plain_text } = await tools.GoogleDocs.GOOGLEDOCS_GET_DOCUMENT_PLAINTEXT({ document_id: doc.id });
await tools.FileSystem.write_file({ path: "gdoc_export.txt", content: plain_text });
return { written: "gdoc_export.txt", letters: plain_text.length };
