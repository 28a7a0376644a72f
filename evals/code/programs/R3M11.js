// Writes the files of Drive whose name has a word to a file.
// search: find files in google drive; write a file
const { files } = await tools.GoogleDrive.GOOGLEDRIVE_FIND_FILE({
  q: "name contains 'report'", fields: "files(id,name,mimeType,modifiedTime)",
});
const lines = files.map(file => `${file.name} | ${file.mimeType} | ${file.modifiedTime}`);
await tools.FileSystem.write_file({ path: "drive_reports.txt", content: lines.join("\n") });
return { written: "drive_reports.txt", files: lines.length };
