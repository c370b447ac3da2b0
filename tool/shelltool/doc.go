// Package shelltool gives a model the tool shell: it runs commands in a sandbox, on the files of a workspace.
//
//	func main() {
//		sandbox.Init()
//		…
//		agent := braid.New("builder", model, braid.From(filetool.New(files)), braid.From(shelltool.New(files, shelltool.Options{})))
//
// Package sandbox says what a command can reach: the workspace and the system's programs, and no network. The effect of the
// tool is unsafe, and a user is asked before each command unless [Options].Unattended is set.
//
// # The workspace
//
// A command works in the folder of a [workspace.Folder] itself. Its folder .git is closed to changes, because programs
// outside of the sandbox run what stands there. For any other [workspace.Files] the files are copied into a temporary
// folder, and what the command has changed is stored afterwards, under the quotas of the workspace. A file that somebody
// else has changed meanwhile is left as it is, and the model is told. After a cancellation nothing is stored.
//
// Links, devices and names that a workspace does not take stay out of it.
package shelltool
