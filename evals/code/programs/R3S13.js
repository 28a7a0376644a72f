// Finds files in Drive by a word in their name.
// search: find files in google drive
const { files } = await tools.GoogleDrive.GOOGLEDRIVE_FIND_FILE({ q: "name contains 'report'" });
return files.map(file => ({ id: file.id, name: file.name, type: file.mimeType }));
