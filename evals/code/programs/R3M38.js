// Writes the state of two services to one file.
// search: figma file metadata; google drive storage quota; write a file
const [{ file }, { storageQuota }] = await Promise.all([
  tools.Figma.FIGMA_GET_FILE_METADATA({ file_key: "T3lhb4UthzEXNtMySEySWZ" }),
  tools.GoogleDrive.GOOGLEDRIVE_GET_ABOUT({ fields: "storageQuota" }),
]);
const lines = [
  `Figma: ${file.name}, last changed ${file.last_touched_at}`,
  `Drive: ${storageQuota.usage} of ${storageQuota.limit} bytes used`,
];
await tools.FileSystem.write_file({ path: "platform_status.txt", content: lines.join("\n") });
return lines;
