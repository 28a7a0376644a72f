// Uploads the strongest stories of the front page to Drive.
// search: hacker news front page by points; create a text file in google drive
const page = await tools.HackerNews.get_frontpage({ min_points: 100 });
const best = page.hits.filter(story => story.points >= 100).sort((a, b) => b.points - a.points).slice(0, 5);
const file = await tools.GoogleDrive.GOOGLEDRIVE_CREATE_FILE_FROM_TEXT({
  file_name: "hn_digest.txt", mime_type: "text/plain",
  text_content: best.map(story => `${story.title}\n${story.url}`).join("\n\n"),
});
return { id: file.id, stories: best.length };
