// Writes the teams of Linear to a file.
// search: list linear teams; write a file
const { teams } = await tools.Linear.get_teams({});
const short = teams.map(team => ({ name: team.name, id: team.id }));
await tools.FileSystem.write_file({ path: "linear_teams.json", content: JSON.stringify(short, null, 2) });
return { written: "linear_teams.json", teams: short.length };
