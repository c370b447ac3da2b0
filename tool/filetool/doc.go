// Package filetool gives a model the files of a workspace: the tools read, write, edit, list, glob and grep.
//
//	files, err := workspace.OpenFolder("work", workspace.Quota{})
//	if err != nil { … }
//	defer files.Close()
//	agent := braid.New("writer", model, braid.From(filetool.New(files)))
//
// [New] is for one workspace. [ForEach] finds the workspace of each call, so that one agent serves many conversations.
//
// # What the model sees
//
// All paths are relative to the workspace. read returns text with line numbers, and images and PDF documents as blocks.
// Each result has a bound, and says how to read on where it was cut. Files of version control (.git) are left out of list,
// glob and grep unless the folder names them.
//
// read, list, glob and grep change nothing. write is idempotent. After a crash, an edit is compared with the file: it
// runs if it has not happened, counts as done if it has, and is in doubt otherwise.
//
// # What is trusted
//
// File names and contents are data from users and models. Package workspace keeps every path inside the workspace. Patterns
// are RE2 and globs, whose time is bounded by the size of the text.
package filetool
