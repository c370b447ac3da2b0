// Package skillpack reads the skills that tenants upload, and stores their files.
//
// [FromZip] and [FromForm] check an upload before anything is stored: every path stays in the skill's
// folder, there are no links, and the files are few and small. An error names the file and, in a
// SKILL.md, the line. What is odd and still works is a [directory.SkillDiagnostic].
//
// [Store] keeps a skill as one zip archive in the journal's store of bytes. The archive depends on the
// files alone, so the same files have the same digest. Nothing in this package executes a file.
package skillpack
