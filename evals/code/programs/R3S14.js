// Creates a folder in Drive.
// search: create a folder in google drive
const folder = await tools.GoogleDrive.GOOGLEDRIVE_CREATE_FOLDER({ name: "MCP Benchmark R3" });
return { id: folder.id, name: folder.name };
