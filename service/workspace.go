package service

import (
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/internal/unseen"
)

// Workspace describes the folder of files that a run works with.
type Workspace struct {
	// Path is the folder's name for the agent's tools.
	Path string
	// Files are the files in it.
	Files []WorkspaceFile
	// More counts the files that are not listed.
	More int
	// Instructions say how the tools access it.
	Instructions string
}

// WorkspaceFile describes a file.
type WorkspaceFile struct {
	Name  string
	Bytes int64
}

// SystemPrompt joins the parts of a system prompt: the tenant's, the agent's instructions and the
// workspace's part. It leaves out empty parts.
func SystemPrompt(tenant, agent string, files *Workspace) string {
	parts := []string{strings.TrimSpace(tenant), strings.TrimSpace(agent)}
	if files != nil {
		parts = append(parts, files.prompt())
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// prompt returns the workspace's part of the system prompt. Users choose file names, so these stand
// between tags that they cannot close.
func (w *Workspace) prompt() string {
	var text strings.Builder
	text.WriteString("<workspace>\nThe files of this conversation are in " + plain(w.Path) + ".")
	if w.Instructions != "" {
		text.WriteString(" " + w.Instructions)
	}
	if len(w.Files) == 0 {
		text.WriteString("\nThere are none yet.")
	}
	for _, f := range w.Files {
		text.WriteString("\n- " + plain(f.Name) + " (" + strconv.FormatInt(f.Bytes, 10) + " bytes)")
	}
	if w.More > 0 {
		text.WriteString("\nand " + strconv.Itoa(w.More) + " more.")
	}
	return text.String() + "\n</workspace>"
}

// plain returns a name as one line without tags.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unseen.Rune(r):
			return -1
		case r == '<' || r == '>':
			return '_'
		}
		return r
	}, name)
}
