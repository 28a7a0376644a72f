// Creates a text file in Drive, and reads its metadata back.
// search: create a text file in google drive; get file metadata from google drive
const file = await tools.GoogleDrive.GOOGLEDRIVE_CREATE_FILE_FROM_TEXT({
  file_name: "benchmark_log.txt", text_content: "Round 3 benchmark started. 16 servers, 500+ tools.",
  mime_type: "text/plain",
});
const seen = await tools.GoogleDrive.GOOGLEDRIVE_GET_FILE_METADATA({ fileId: file.id });
return { id: seen.id, name: seen.name, size: seen.size, created: seen.createdTime };
