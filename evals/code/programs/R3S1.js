// Names the five strongest stories on the front page of Hacker News.
// search: hacker news front page by points
const page = await tools.HackerNews.get_frontpage({ min_points: 100 });
const best = page.hits.sort((a, b) => b.points - a.points).slice(0, 5);
return best.map(story => ({ title: story.title, points: story.points }));
