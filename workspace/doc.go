// Package workspace stores the files of a conversation: what its user uploads and what its agent writes.
//
//	files, err := workspace.OpenFolder("work", workspace.Quota{})
//	if err != nil { … }
//	defer files.Close()
//	agent := braid.New("writer", model, braid.From(filetool.New(files)))
//
// [Files] is the seam. [Folder] stores files in a local folder, and [Store] in a [blob.Store], which is the database
// of the conversation's journal. Package workspacetest holds the contract that both pass. Package tool/filetool gives
// the files to a model.
//
// # Paths
//
// A path is relative to the workspace and has slashes on every system. [CheckPath] says which paths are allowed. No path
// and no link leads out of the workspace. A folder exists as long as a file stands in it.
//
// # What is trusted
//
// Names and contents are data from users and models. [Quota] bounds the bytes of a file, the bytes of all files and their
// number. Only plain files are read or listed: no links, no devices, no pipes.
package workspace
