// Creates a folder in Drive and a text file in it.
// search: create a folder in google drive; create a text file in google drive
const folder = await tools.GoogleDrive.GOOGLEDRIVE_CREATE_FOLDER({ name: "Exports" });
const file = await tools.GoogleDrive.GOOGLEDRIVE_CREATE_FILE_FROM_TEXT({
  file_name: "readme.txt", text_content: "This folder contains benchmark exports.", parent_id: folder.id,
});
return { folder: folder.id, file: file.id };
