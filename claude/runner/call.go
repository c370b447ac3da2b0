package runner

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/claude"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
)

// call is a tool call of the program. Its fields are guarded by the session's lock.
type call struct {
	// step is its step in the log.
	step string
	// decided says that Braid has decided whether it runs; allow is the decision, with the arguments, or with the reason for
	// the model.
	decided bool
	allow   bool
	args    json.RawMessage
	why     string
	// logged is the result in the log, for a tool of this process.
	logged *claude.ToolResult
	// got is the result that the program had.
	got *claude.Block
}

func (s *session) callLocked(id string) *call {
	c := s.calls[id]
	if c == nil {
		c = &call{}
		s.calls[id] = c
	}
	return c
}

// asked reports whether the program asked for a call.
func (s *session) asked(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[id]
	return c != nil && c.step != "" && s.err == nil
}

// callAt returns the call whose step this is.
func (s *session) callAt(step string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.calls {
		if c.step == step {
			return id
		}
	}
	return ""
}

// decide says whether a call runs. The first decision counts.
func (s *session) decide(id string, allow bool, args json.RawMessage, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decideLocked(s.callLocked(id), allow, args, why)
}

func (s *session) decideLocked(c *call, allow bool, args json.RawMessage, why string) {
	s.keepLocked()
	if !c.decided {
		c.decided, c.allow, c.args, c.why = true, allow, args, why
		s.signal()
	}
}

// ended takes in the result of a call that is in the log. A call that has not run by then was refused.
func (s *session) ended(r *event.ToolResult, shown []event.Block) {
	content := r.Content
	if shown != nil {
		content = shown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.calls[r.Call]
	if !ok {
		return
	}
	s.decideLocked(c, false, nil, event.TextOf(content))
	c.logged = &claude.ToolResult{IsError: r.IsError, Structured: r.Structured, Content: contentOf(content)}
	if len(c.logged.Content) == 0 && len(r.Structured) > 0 {
		c.logged.Content = []claude.ToolContent{{Type: "text", Text: string(r.Structured)}}
	}
	s.signal()
}

// contentOf returns blocks in the form of MCP. What it cannot have is named.
func contentOf(blocks []event.Block) []claude.ToolContent {
	list := []claude.ToolContent{}
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			list = append(list, claude.ToolContent{Type: "text", Text: b.Text})
		case *event.Image:
			if len(b.Data) > 0 {
				list = append(list, claude.ToolContent{Type: "image", Data: base64.StdEncoding.EncodeToString(b.Data), MIMEType: b.MIME})
				continue
			}
			list = append(list, claude.ToolContent{Type: "text", Text: "[Image: " + b.URL + "]"})
		case *event.Document:
			list = append(list, claude.ToolContent{Type: "text", Text: "[Document " + b.Name + "]\n" + b.Text})
		default:
			list = append(list, claude.ToolContent{Type: "text", Text: "[" + string(b.BlockKind()) + "]"})
		}
	}
	return list
}

// result waits for the result that the program has of a call. A run that stops ends the program, and with it the tool.
func (s *session) result(ctx context.Context, id string) (tool.Output, error) {
	var got *claude.Block
	err := s.await(ctx, func() bool {
		got = s.calls[id].got
		return got != nil
	})
	if err != nil {
		if ctx.Err() != nil {
			s.close()
		}
		return tool.Output{}, err
	}
	out := tool.Output{IsError: got.IsError}
	for _, b := range got.Content {
		out.Content = append(out.Content, blockOf(&b)...)
	}
	return out, nil
}

// blockOf returns a block of a tool's result.
func blockOf(b *claude.Block) []event.Block {
	switch b.Type {
	case "text":
		return []event.Block{&event.Text{Text: strings.ToValidUTF8(b.Text, "\uFFFD")}}
	case "image":
		var source struct {
			Type string `json:"type"`
			MIME string `json:"media_type"`
			Data []byte `json:"data"`
			URL  string `json:"url"`
		}
		if json.Unmarshal(b.Source, &source) == nil && (len(source.Data) > 0 || source.URL != "") {
			return []event.Block{&event.Image{MIME: source.MIME, Data: source.Data, URL: source.URL}}
		}
	}
	return []event.Block{&event.Text{Text: "[" + b.Type + "]"}}
}

// beforeTool is the program's hook before each tool: the program waits until the call's beginning is in the log.
func (s *session) beforeTool(ctx context.Context, in *claude.HookInput) (claude.HookOutput, error) {
	if strings.HasPrefix(in.Tool, mcpPrefix) {
		return claude.HookOutput{Decision: "allow"}, nil // it waits in the server
	}
	var c call
	err := s.await(ctx, func() bool {
		one := s.callLocked(in.ToolUseID)
		if t := s.threadOfLocked(in.AgentID); t != nil && !t.waits {
			t.waits = true
			s.signal()
		}
		c = *one
		return c.decided
	})
	switch {
	case err != nil:
		return claude.HookOutput{Decision: "deny", Reason: "The run has ended."}, nil //nolint:nilerr // the call must not run
	case !c.allow:
		return claude.HookOutput{Decision: "deny", Reason: c.why}, nil
	}
	return claude.HookOutput{Decision: "allow", Input: c.args}, nil
}

// afterTools is the program's hook after all tools of an answer: the program waits until Braid wants its next model call.
func (s *session) afterTools(ctx context.Context, in *claude.HookInput) (claude.HookOutput, error) {
	err := s.await(ctx, func() bool {
		t := s.threadOfLocked(in.AgentID)
		if t == nil || !t.mayGo {
			return false
		}
		t.mayGo = false
		return true
	})
	return claude.HookOutput{Stop: err != nil, StopReason: "The run has ended."}, nil
}

// threadOfLocked returns the thread of a sub-agent by its id; the main one for none, nil for one that is not known yet.
func (s *session) threadOfLocked(agent string) *thread {
	if agent == "" {
		return s.threadLocked("")
	}
	if id, ok := s.subagents[agent]; ok {
		return s.threadLocked(id)
	}
	return nil
}

// mcpPrefix begins the names of the tools of this process in the program.
const mcpPrefix = "mcp__braid__"
