// Uploads the listing of the working folder to Drive.
// search: list a directory; list allowed directories; create a text file in google drive
const listing = await tools.FileSystem.list_directory({ path: "." });
const file = await tools.GoogleDrive.GOOGLEDRIVE_CREATE_FILE_FROM_TEXT({
  file_name: "workspace_snapshot.txt", text_content: listing.content ?? String(listing), mime_type: "text/plain",
});
return { id: file.id, name: file.name };
