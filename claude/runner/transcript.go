package runner

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// transcriptLine is a line of the program's session files: what it needs to read one.
type transcriptLine struct {
	Parent    *string `json:"parentUuid"`
	Sidechain bool    `json:"isSidechain"`
	Type      string  `json:"type"`
	Message   any     `json:"message"`
	UUID      string  `json:"uuid"`
	Time      string  `json:"timestamp"`
	Session   string  `json:"sessionId"`
	Dir       string  `json:"cwd"`
	UserType  string  `json:"userType"`
}

type object = map[string]any

// goOnPrompt is what the program is told where a run continues behind results of tools.
const goOnPrompt = "Continue."

// split returns what of a request is history, and what the program is told: the user's newest words.
func (m *Model) split(messages []event.Message) (history []event.Message, prompt []object) {
	last := messages[len(messages)-1]
	var results, said []event.Block
	for _, b := range last.Content {
		if _, ok := b.(*event.ToolResult); ok {
			results = append(results, b)
		} else {
			said = append(said, b)
		}
	}
	history = messages[:len(messages)-1]
	if last.Role != event.RoleUser {
		history, said = messages, nil
	}
	if len(results) > 0 {
		history = append(slices.Clip(history), event.Message{Role: event.RoleUser, Content: results})
	}
	if len(said) == 0 {
		return history, []object{{"type": "text", "text": goOnPrompt}}
	}
	return history, m.blocks(said)
}

// writeTranscript writes a session file that has these messages.
func (m *Model) writeTranscript(path string, history []event.Message, dir string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the session's own folder
	if err != nil {
		return err
	}
	defer func() {
		if bad := f.Close(); err == nil {
			err = bad
		}
	}()
	to := json.NewEncoder(f)
	to.SetEscapeHTML(false)
	var parent *string
	n := 0
	for i := range history {
		for _, message := range m.messages(&history[i], i) {
			n++
			id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
			line := transcriptLine{
				Parent: parent, Type: string(history[i].Role), Message: message, UUID: id, Time: "2026-01-01T00:00:00.000Z",
				Session: sessionID, Dir: dir, UserType: "external",
			}
			if err := to.Encode(line); err != nil {
				return err
			}
			parent = &id
		}
	}
	return nil
}

// sessionID is the id of every session: each has folders of its own.
const sessionID = "00000000-0000-4000-9000-000000000000"

// messages returns a message as the program keeps it: an answer has a line for each block.
func (m *Model) messages(one *event.Message, n int) (list []object) {
	blocks := m.blocks(one.Content)
	if one.Role == event.RoleUser {
		return []object{{"role": "user", "content": blocks}}
	}
	stop := "end_turn"
	if len(one.Calls()) > 0 {
		stop = "tool_use"
	}
	for _, b := range blocks {
		list = append(list, object{
			"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": m.Info().Name, "content": []object{b},
			"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": 0, "output_tokens": 0},
		})
	}
	return list
}

// blocks returns blocks in the form of the Messages API. Thinking is left out: its signature belongs to requests that the
// program did not make.
func (m *Model) blocks(blocks []event.Block) []object {
	list := []object{}
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			if b.Text != "" {
				list = append(list, object{"type": "text", "text": b.Text})
			}
		case *event.Thinking, *event.RedactedThinking:
		case *event.Image:
			list = append(list, object{"type": "image", "source": source(b.MIME, b.Data, b.URL)})
		case *event.Document:
			if b.Text != "" {
				list = append(list, object{"type": "text", "text": "[Document " + b.Name + "]\n" + b.Text})
				continue
			}
			list = append(list, object{"type": "document", "title": b.Name, "source": source(b.MIME, b.Data, b.URL)})
		case *event.ToolCall:
			args := b.Args
			if len(args) == 0 || args[0] != '{' {
				args = json.RawMessage("{}")
			}
			list = append(list, object{"type": "tool_use", "id": b.ID, "name": m.named(b.Name), "input": args})
		case *event.ToolResult:
			content := m.blocks(b.Content)
			if len(content) == 0 && len(b.Structured) > 0 {
				content = []object{{"type": "text", "text": string(b.Structured)}}
			}
			list = append(list, object{"type": "tool_result", "tool_use_id": b.Call, "content": content, "is_error": b.IsError})
		default:
			list = append(list, object{"type": "text", "text": "[" + string(b.BlockKind()) + "]"})
		}
	}
	return list
}

func source(mime string, data []byte, url string) object {
	if len(data) == 0 {
		return object{"type": "url", "url": url}
	}
	return object{"type": "base64", "media_type": mime, "data": base64.StdEncoding.EncodeToString(data)}
}

// named returns the program's name of a tool.
func (m *Model) named(tool string) string {
	if m.own[tool] {
		return tool
	}
	return mcpPrefix + tool
}

// folders makes the folders of a process.
func (m *Model) folders() (root string, env []string, err error) {
	root, err = os.MkdirTemp(m.options.Scratch, "braid-claude-")
	if err != nil {
		return "", nil, err
	}
	for _, name := range []string{"config", "home", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			_ = os.RemoveAll(root)
			return "", nil, err
		}
	}
	return root, []string{
		"CLAUDE_CONFIG_DIR=" + filepath.Join(root, "config"), "HOME=" + filepath.Join(root, "home"),
		"TMPDIR=" + filepath.Join(root, "tmp"), "CLAUDE_CODE_TMPDIR=" + filepath.Join(root, "tmp"),
	}, nil
}

// specs are the tools of this process in a request.
func (m *Model) specs(req *model.Request) (list []model.ToolSpec) {
	for _, t := range req.Tools {
		if !m.own[t.Name] {
			list = append(list, t)
		}
	}
	return list
}

// stepName is the name of a call's step in the log.
func stepName(scope string, cycle, index int) string {
	name := fmt.Sprintf("t%d.%d", cycle, index)
	if scope != "" {
		return scope + "/" + name
	}
	return name
}
