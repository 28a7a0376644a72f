// Finds out on the web what a product is, from the first lines of the best pages.
// search: search the web
const { answer, results } = await tools.Tavily.tavily_search({ query: "Bifrost AI gateway", max_results: 5 });
return { answer, pages: results.slice(0, 3).map(page => ({ title: page.title, text: page.content.slice(0, 300) })) };
