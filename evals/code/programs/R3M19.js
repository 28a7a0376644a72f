// Writes the last five versions of a Figma file to a file.
// search: version history of a figma file; write a file
const { versions } = await tools.Figma.FIGMA_GET_VERSIONS_OF_A_FILE({ file_key: "T3lhb4UthzEXNtMySEySWZ" });
const lines = versions.slice(0, 5).map(it => `${it.user.handle} ${it.created_at} ${it.label ?? ""}`.trim());
await tools.FileSystem.write_file({ path: "figma_versions.txt", content: lines.join("\n") });
return lines;
