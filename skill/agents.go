package skill

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// AgentsFile is the file with instructions for agents in a workspace (agents.md).
const AgentsFile = "AGENTS.md"

// MaxAgents bounds its text in bytes. A longer text is cut and says so.
const MaxAgents = 32 << 10

const agentsLead = "This is the " + AgentsFile + " of the workspace that you work in. Follow it, unless what was said before or " +
	"what the user says is against it."

// Workspace is the content of a workspace's AGENTS.md, and a [tool.Source] for an agent that works there. The zero value is empty.
type Workspace struct {
	// Text is the file's text. It is empty if there is no file.
	Text string
	// Path is the file's path in the workspace, with slashes.
	Path string
}

var _ tool.Source = Workspace{}

// Agents reads the AGENTS.md for a folder of a workspace: the nearest one, in the folder itself or
// in those above it, up to the workspace and never beyond. folder is a path in the workspace, which
// may also name a file; "" is the workspace itself. An empty file counts as none. Without a file it
// returns the zero Workspace and no error. Errors are [*event.Error]s.
func Agents(workspace, folder string) (Workspace, error) {
	at := path.Clean(filepath.ToSlash(folder))
	if !filepath.IsLocal(filepath.FromSlash(at)) {
		return Workspace{}, &event.Error{
			Kind: event.ErrPermission, Message: "the folder is outside the workspace", Hint: "name one inside it, by its path from there",
		}
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		e := &event.Error{Kind: event.ErrPermission, Message: "the workspace cannot be opened", Hint: "name a folder", Err: err}
		if errors.Is(err, fs.ErrNotExist) {
			e.Kind, e.Message = event.ErrNotFound, "there is no such workspace"
		}
		return Workspace{}, e
	}
	defer root.Close()
	for {
		name := path.Join(at, AgentsFile)
		data, whole, err := readFile(root, name, MaxAgents)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, errNoFile):
		case err != nil:
			return Workspace{}, &event.Error{
				Kind: event.ErrPermission, Message: AgentsFile + " cannot be read", Err: err,
				Hint: "name a file inside the workspace; links out of it are not followed",
			}
		default:
			text, err := agentsText(data, whole)
			if err != nil {
				return Workspace{}, err
			}
			if text != "" {
				return Workspace{Text: text, Path: name}, nil
			}
		}
		if at == "." {
			return Workspace{}, nil
		}
		at = path.Dir(at)
	}
}

// agentsText returns the file's text, cut between characters.
func agentsText(data []byte, whole bool) (string, error) {
	if !whole {
		for n := 0; n < utf8.UTFMax && len(data) > 0 && !utf8.Valid(data); n++ {
			data = data[:len(data)-1]
		}
	}
	if !utf8.Valid(data) {
		return "", invalid(AgentsFile+" is no text", "save it as UTF-8")
	}
	text := strings.TrimSpace(clean(strings.TrimPrefix(string(data), "\ufeff")))
	if !whole && text != "" {
		text += "\n[cut here: the file is longer]"
	}
	return text, nil
}

// Instructions implement [tool.Source]: the file's text between tags. They are empty if there is no text.
func (w Workspace) Instructions() string { return w.Prompt("") }

// Tools implements [tool.Source]. A workspace's file brings no tools.
func (w Workspace) Tools() []tool.Tool { return nil }

// Prompt returns base and below it the file's text between tags. It returns base alone if there is
// no text.
func (w Workspace) Prompt(base string) string {
	if w.Text == "" {
		return base
	}
	return below(base, frame("workspace_instructions", agentsLead+"\n\n"+w.Text))
}
