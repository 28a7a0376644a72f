// Writes the components of a Figma file to a file.
// search: components of a figma file; write a file
const { meta } = await tools.Figma.FIGMA_GET_FILE_COMPONENTS({ file_key: "T3lhb4UthzEXNtMySEySWZ" });
const lines = meta.components.map(component => `${component.name} ${component.node_id}`);
await tools.FileSystem.write_file({ path: "figma_components.txt", content: lines.join("\n") });
return { written: "figma_components.txt", components: lines.length };
