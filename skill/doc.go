// Package skill gives an agent skills: folders with a SKILL.md that says what to do in
// a certain kind of task, and with files that it refers to. The form is that of Agent
// Skills (agentskills.io/specification), so folders that were written for other agents
// work here.
//
//	skills, problems := skill.Load("skills")
//	for _, p := range problems { … }
//	agent := braid.New("helper", model,
//		braid.Instructions("You help with documents."), skills.Part())
//
// The model sees the name and the description of each skill in its instructions. With
// the tool "skill" it loads one when a task needs it, and then the files that the skill
// names. So a hundred skills cost little until one is used.
//
// [Agents] reads the AGENTS.md of a workspace, which stands in the instructions whole.
//
// # What is trusted
//
// Whoever writes a skill tells the model what to do, so the folders are the operator's
// choice. What is read is bounded in number and size. Files are read inside of their
// skill's folder only: neither a path nor a link leads out of it. Nothing is ever run,
// and allowed-tools permits nothing: it is kept for whoever decides that.
package skill
