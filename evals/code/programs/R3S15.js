// Says how full the Drive is.
// search: google drive storage quota
const { storageQuota } = await tools.GoogleDrive.GOOGLEDRIVE_GET_ABOUT({ fields: "storageQuota,user" });
const gigabytes = bytes => Math.round(Number(bytes) / 1e7) / 100;
const [used, limit] = [gigabytes(storageQuota.usage), gigabytes(storageQuota.limit)];
return { used_gb: used, available_gb: limit - used, limit_gb: limit };
