// Writes five people of a company to a file.
// search: search people at a company in apollo; write a file
const { people } = await tools.Apollo.people_search({ q_organization_name: "Anthropic", per_page: 25 });
const lines = people.slice(0, 5).map(it => `${it.name}, ${it.title}, ${it.email ?? "no address"}`);
await tools.FileSystem.write_file({ path: "apollo_anthropic.txt", content: lines.join("\n") });
return lines;
