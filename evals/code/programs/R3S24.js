// Lists the shared drives.
// search: list shared drives
const { drives } = await tools.GoogleDrive.GOOGLEDRIVE_LIST_SHARED_DRIVES({ pageSize: 100 });
return drives.map(drive => ({ id: drive.id, name: drive.name }));
