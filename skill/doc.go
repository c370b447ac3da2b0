// Package skill gives an agent skills: folders with a SKILL.md, which says what to do in a kind of
// task, and with the files that it refers to. The format is Agent Skills
// (agentskills.io/specification), so that folders for other agents work here.
//
//	skills, problems := skill.Load("skills")
//	for _, p := range problems { … }
//	agent := braid.New("helper", model,
//		braid.Instructions("You help with documents."), braid.From(skills))
//
// The model sees the name and the description of each skill in its instructions. With the tool
// "skill" it loads one when a task needs it, and then the files that the skill names. So a hundred
// skills cost little until one is used.
//
// [Agents] reads the AGENTS.md of a workspace, whose whole text becomes part of the instructions.
//
// # What is trusted
//
// The author of a skill instructs the model, so the operator chooses the folders. The number and
// size of files are bounded. Files are read only inside their skill's folder: no path and no link
// leads out of it. Nothing is ever executed, and allowed-tools permits nothing: it is kept for the
// program.
package skill
