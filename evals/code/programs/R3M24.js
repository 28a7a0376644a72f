// Puts the three strongest stories of the front page into a document.
// search: hacker news front page by points; create a google doc; insert text into a google doc
const page = await tools.HackerNews.get_frontpage({ min_points: 100 });
const best = page.hits.sort((a, b) => b.points - a.points).slice(0, 3);
const { documentId } = await tools.GoogleDocs.GOOGLEDOCS_CREATE_DOCUMENT({ title: "HN Digest", text: "" });
await tools.GoogleDocs.GOOGLEDOCS_INSERT_TEXT_ACTION({
  document_id: documentId, insertion_index: 1,
  text_to_insert: best.map(story => `• ${story.title} (${story.points} points): ${story.url}\n`).join(""),
});
return { documentId, stories: best.map(story => story.title) };
