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

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
)

// AgentsFile is the file in which people tell agents about a workspace (agents.md).
const AgentsFile = "AGENTS.md"

// MaxAgents is how much of it is taken, in bytes. What is over is left out, and the text
// says so.
const MaxAgents = 32 << 10

const agentsLead = "This is the " + AgentsFile + " of the workspace that you work in. Follow it, unless what was said before or " +
	"what the user says is against it."

// Workspace is what the AGENTS.md of a workspace says. The zero value says nothing.
type Workspace struct {
	// Text is the file's text; empty where there is none.
	Text string
	// Path is where it stands, from the workspace's folder, with slashes.
	Path string
}

// Agents finds the AGENTS.md that counts for a folder of a workspace: the nearest one, in
// the folder itself or else in those above it, up to the workspace and never beyond.
// folder is a path from the workspace, also of a file in it; "" is the workspace itself. A file that is empty
// counts as none. It is no error where there is none: then nothing is said. Errors are
// [*event.Error]s.
func Agents(workspace, folder string) (Workspace, error) {
	at := path.Clean(filepath.ToSlash(folder))
	if !filepath.IsLocal(filepath.FromSlash(at)) {
		return Workspace{}, &event.Error{
			Kind: event.ErrPermission, Message: "the folder is outside of the workspace", Hint: "name one inside of it, by its path from there",
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
				Hint: "it has to be a file inside of the workspace, and no link that leads out of it",
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

// agentsText is what the file says, cut at the border of a character.
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

// Part puts what the file says below an agent's instructions.
func (w Workspace) Part() braid.Part { return braid.MoreInstructions(w.Prompt("")) }

// Prompt is base, the agent's own instructions, and below it what the file says, between
// tags; base alone where it says nothing.
func (w Workspace) Prompt(base string) string {
	if w.Text == "" {
		return base
	}
	return below(base, frame("workspace_instructions", agentsLead+"\n\n"+w.Text))
}
