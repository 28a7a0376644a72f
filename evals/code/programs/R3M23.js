// Writes the profiles of two services to one file.
// search: get calendly user profile; current figma user; write a file
const [calendly, figma] = await Promise.all([
  tools.Calendly.CALENDLY_GET_USER({ uuid: "me" }),
  tools.Figma.FIGMA_GET_CURRENT_USER({}),
]);
const lines = [
  `Calendly: ${calendly.resource.name}, ${calendly.resource.email}`,
  `Figma: ${figma.handle}, ${figma.email}`,
];
await tools.FileSystem.write_file({ path: "profiles.txt", content: lines.join("\n") });
return lines;
