// Writes what Apollo and Drive know of a company to one file.
// search: search organizations in apollo; find files in google drive; write a file
const [{ organizations }, { files }] = await Promise.all([
  tools.Apollo.search_organizations({ q_organization_name: "OpenAI", per_page: 10 }),
  tools.GoogleDrive.GOOGLEDRIVE_FIND_FILE({ q: "name contains 'openai'" }),
]);
const lines = [
  "Organizations", ...organizations.map(it => `${it.name} | ${it.website_url} | ${it.estimated_num_employees}`), "",
  "Files in Drive", ...files.map(file => `${file.name} | ${file.mimeType} | ${file.modifiedTime}`),
];
await tools.FileSystem.write_file({ path: "openai_research.txt", content: lines.join("\n") });
return { organizations: organizations.length, files: files.length };
