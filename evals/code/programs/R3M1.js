// Stores the five strongest stories of the front page in a table.
// search: hacker news front page by points; run an sql query
const page = await tools.HackerNews.get_frontpage({ min_points: 100 });
const best = page.hits.sort((a, b) => b.points - a.points).slice(0, 5);
await tools.SQLite.query({ sql: "CREATE TABLE IF NOT EXISTS hn_top_stories (title TEXT, points INTEGER, url TEXT)" });
for (const story of best) {
  await tools.SQLite.query({
    sql: "INSERT INTO hn_top_stories VALUES (?, ?, ?)", values: [story.title, story.points, story.url],
  });
}
return await tools.SQLite.query({ sql: "SELECT count(*) AS stories FROM hn_top_stories" });
