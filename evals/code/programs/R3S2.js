// Names the teams of the Linear workspace.
// search: list linear teams
const { teams } = await tools.Linear.get_teams({});
return teams.map(team => team.name);
