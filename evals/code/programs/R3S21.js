// Reads the name and the last change of a Figma file.
// search: figma file metadata
const { file } = await tools.Figma.FIGMA_GET_FILE_METADATA({ file_key: "T3lhb4UthzEXNtMySEySWZ" });
return { name: file.name, last_modified: file.last_touched_at };
