package main

import (
	"context"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/filetool"
	"github.com/braidrun/braid/workspace"
)

// folderTools are the tools of the option workspace. Without the option there are none.
type folderTools struct {
	tool.Source

	instructions string
	close        func()
	// files is nil without a workspace.
	files workspace.Files
}

// Instructions are those of the tools, with a list of the files when the folder was opened.
func (f folderTools) Instructions() string { return f.instructions }

// openWorkspace opens the folder of the option workspace.
func openWorkspace(ctx context.Context, s *conf.Settings) (folderTools, error) {
	if s.Workspace == "" {
		return folderTools{Source: noTools{}, close: func() {}}, nil
	}
	files, err := workspace.OpenFolder(s.Workspace, workspace.Quota{})
	if event.KindOf(err) == event.ErrNotFound {
		err = &event.Error{
			Op: "open workspace", Kind: event.ErrNotFound, Message: "the folder of --workspace does not exist",
			Hint: "make it, or name another", Err: err,
		}
	}
	if err != nil {
		return folderTools{}, err
	}
	list, err := filetool.Prompt(ctx, files)
	if err != nil {
		_ = files.Close()
		return folderTools{}, err
	}
	set := filetool.New(files)
	return folderTools{files: files, Source: set, instructions: set.Instructions() + "\n" + list, close: func() { _ = files.Close() }}, nil
}

// noTools is a source of no tools.
type noTools struct{}

func (noTools) Tools() []tool.Tool   { return nil }
func (noTools) Instructions() string { return "" }
