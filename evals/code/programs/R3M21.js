// Writes the PDF files of Drive and their sizes to a file.
// search: find files in google drive; write a file
const { files } = await tools.GoogleDrive.GOOGLEDRIVE_FIND_FILE({
  q: "mimeType = 'application/pdf'", fields: "files(id,name,size)",
});
const lines = files.map(file => `${file.name} ${file.size ?? "unknown"} bytes`);
await tools.FileSystem.write_file({ path: "drive_pdfs.txt", content: lines.join("\n") });
return { written: "drive_pdfs.txt", files: lines.length };
