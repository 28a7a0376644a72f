// Writes a small JSON file.
// search: write a file
const config = { app: "bifrost", version: "3.0", debug: false, port: 8080 };
await tools.FileSystem.write_file({ path: "config.json", content: JSON.stringify(config, null, 2) });
return "config.json written";
