// Finds documents by a word in their name.
// search: search google docs by name
const { documents } = await tools.GoogleDocs.GOOGLEDOCS_SEARCH_DOCUMENTS({ query: "name contains 'benchmark'" });
return documents.map(doc => ({ id: doc.id, name: doc.name }));
