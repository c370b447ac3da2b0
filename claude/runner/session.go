package runner

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/braidrun/braid/claude"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// session is a running program that works on a scope of a run, with its sub-agents.
type session struct {
	model  *Model
	key    string
	client *claude.Client
	root   string
	// tick wakes a model call that waits for the usage of an answer.
	tick *time.Ticker
	once sync.Once
	// stop ends the turn; pumped is closed when it has ended.
	stop   context.CancelFunc
	pumped chan struct{}

	mu      sync.Mutex
	changed chan struct{}
	threads map[string]*thread
	// subagents are the calls that started sub-agents, by the ids of these.
	subagents map[string]string
	calls     map[string]*call
	// final is the usage of whole answers by the ids of these, as the program's transcript has it.
	final map[string]finalUsage
	// spent is what model calls have reported, by model.
	spent map[string]event.Usage
	// err is why the program has ended.
	err  error
	idle *time.Timer
}

type finalUsage struct {
	usage event.Usage
	stop  string
}

var (
	errThreadOver = &event.Error{Op: op, Kind: event.ErrModel, Message: "the sub-agent ended without an answer"}
	errEnded      = &event.Error{
		Op: op, Kind: event.ErrUnavailable, Message: "the program has ended", Hint: "Run it again.",
	}
)

// start starts a program that has the messages of a request.
func (m *Model) start(ctx context.Context, req *model.Request) (*session, error) {
	root, folders, err := m.folders()
	if err != nil {
		return nil, &event.Error{
			Op: op, Kind: event.ErrUnavailable, Message: "the program's folders could not be made",
			Hint: "See that Options.Scratch may be written.", Err: err,
		}
	}
	s := &session{
		model: m, key: key(req.Run, req.Scope), root: root, tick: time.NewTicker(100 * time.Millisecond), pumped: make(chan struct{}),
		changed: make(chan struct{}), threads: map[string]*thread{}, subagents: map[string]string{}, calls: map[string]*call{},
		final: map[string]finalUsage{}, spent: map[string]event.Usage{},
	}
	history, prompt := m.split(req.Messages)
	opts := s.options(req, folders)
	if len(history) > 0 {
		path := filepath.Join(root, "session.jsonl")
		if err := m.writeTranscript(path, history, m.options.Dir); err != nil {
			s.release()
			return nil, &event.Error{Op: op, Kind: event.ErrUnavailable, Message: "the session could not be written", Err: err}
		}
		opts = append(opts, claude.Resume(path))
	}
	if s.client, err = claude.Open(ctx, opts...); err != nil {
		s.release()
		return nil, notStarted(err)
	}
	content, err := json.Marshal(prompt)
	if err != nil {
		_ = s.client.Close()
		s.release()
		return nil, err
	}
	m.mu.Lock()
	m.sessions[s.key] = s
	m.mu.Unlock()
	pumping, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.pump(pumping, content)
	return s, nil
}

// notStarted is the error for a program that does not start. Braid does not try again: it would end in the same way.
func notStarted(err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok || e.Kind != event.ErrUnavailable && e.Kind != event.ErrTimeout {
		return err
	}
	return &event.Error{Op: op, Kind: event.ErrModel, Message: "the program did not start: " + e.Message, Hint: e.Hint, Err: err}
}

// options are those of the process. The caller's come first, so that they change nothing of Braid's.
func (s *session) options(req *model.Request, folders []string) []claude.Option {
	m := s.model
	o := &m.options
	opts := append(append([]claude.Option{}, o.Claude...),
		claude.Dir(o.Dir), claude.Model(o.Model), claude.Literal(), claude.PartialMessages(), claude.MirrorSession(),
		claude.ForwardSubagentText(), claude.SettingSources(), claude.StrictMCP(), claude.SnapshotSystemPrompt(false),
		claude.Env(o.Env...), claude.Env(folders...), claude.Env(
			// Braid retries, so that the log has each attempt. Sub-agents work while their call waits.
			"CLAUDE_CODE_MAX_RETRIES=0", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", "ENABLE_TOOL_SEARCH=false", "MCP_TOOL_TIMEOUT=2000000000",
			"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"),
		claude.OnHook(claude.HookMatch{Point: claude.PreToolUse, Timeout: mostWait, Block: true}, s.beforeTool),
		claude.OnHook(claude.HookMatch{Point: claude.PostToolBatch, Timeout: mostWait, Block: true}, s.afterTools))
	switch {
	case req.Instructions == "":
	case o.ReplacePrompt || req.Scope != "":
		opts = append(opts, claude.SystemPrompt(req.Instructions))
	default:
		opts = append(opts, claude.AppendSystemPrompt(req.Instructions))
	}
	own := []string{}
	for _, t := range req.Tools {
		if m.own[t.Name] {
			own = append(own, t.Name)
		}
	}
	opts = append(opts, claude.Tools(own...))
	if len(o.Agents) > 0 {
		opts = append(opts, claude.Agents(m.agents()))
	}
	if list := m.specs(req); len(list) > 0 {
		opts = append(opts, claude.InProcess("braid", s.server(list)))
	}
	return opts
}

// server serves the tools of this process to the program. A call returns what the log has.
func (s *session) server(list []model.ToolSpec) *claude.ToolServer {
	server := &claude.ToolServer{}
	for _, t := range list {
		server.Tools = append(server.Tools, claude.Tool{
			Name: t.Name, Description: t.Description, Schema: t.Schema,
			Call: func(ctx context.Context, c claude.ToolCall) (result claude.ToolResult, err error) {
				err = s.await(ctx, func() bool {
					one := s.callLocked(c.ID)
					if one.logged != nil {
						result = *one.logged
					}
					return one.logged != nil
				})
				return result, err
			},
		})
	}
	return server
}

// pump passes what the program writes to the threads, until the turn has ended.
func (s *session) pump(ctx context.Context, prompt json.RawMessage) {
	defer close(s.pumped)
	err := error(errEnded)
	for m, failed := range s.client.TurnOf(ctx, claude.Prompt{Content: prompt}) {
		if failed != nil {
			err = failed
			break
		}
		s.mu.Lock()
		s.take(m)
		s.signal()
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.signal()
}

// take gives a message to the thread that it belongs to. The lock is held.
func (s *session) take(m claude.Message) {
	switch m := m.(type) {
	case *claude.Assistant:
		if m.AgentID != "" && m.ParentToolUse != "" {
			s.subagents[m.AgentID] = m.ParentToolUse
		}
		t := s.threadLocked(m.ParentToolUse)
		t.items = append(t.items, m)
	case *claude.StreamEvent:
		t := s.threadLocked(m.ParentToolUse)
		t.items = append(t.items, m)
	case *claude.Result:
		t := s.threadLocked("")
		t.items = append(t.items, m)
	case *claude.User:
		for i := range m.Message.Content {
			if b := &m.Message.Content[i]; b.Type == "tool_result" {
				s.callLocked(b.ToolUseID).got = b
			}
		}
	case *claude.TaskStarted:
		if m.ToolUseID != "" {
			s.subagents[m.TaskID] = m.ToolUseID
		}
	case *claude.TaskNotification:
		if m.ToolUseID != "" {
			t := s.threadLocked(m.ToolUseID)
			t.done, t.finished = m.Status != "completed", true
		}
	case *claude.Mirror:
		s.learn(m)
	}
}

// learn takes the usage of whole answers out of the program's transcript.
func (s *session) learn(m *claude.Mirror) {
	for _, raw := range m.Entries {
		var e struct {
			Type    string              `json:"type"`
			Message claude.ModelMessage `json:"message"`
		}
		if json.Unmarshal(raw, &e) == nil && e.Type == "assistant" && e.Message.StopReason != "" {
			s.final[e.Message.ID] = finalUsage{e.Message.Usage.Event(), e.Message.StopReason}
		}
	}
}

// close ends the program and removes its folders. It returns when both is done.
func (s *session) close() {
	s.once.Do(func() {
		s.mu.Lock()
		if s.err == nil {
			s.err = errEnded
		}
		if s.idle != nil {
			s.idle.Stop()
		}
		s.signal()
		s.mu.Unlock()
		s.model.mu.Lock()
		if s.model.sessions[s.key] == s {
			delete(s.model.sessions, s.key)
		}
		s.model.mu.Unlock()
		s.client.Kill()
		s.stop()
		<-s.pumped
		s.release()
	})
}

// keepLocked keeps the program of a run that waited and goes on. The lock is held.
func (s *session) keepLocked() {
	if s.idle != nil && s.idle.Stop() {
		s.idle = nil
	}
}

// closeAfter ends the program after a while, unless the run goes on.
func (s *session) closeAfter(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil && s.err == nil {
		s.idle = time.AfterFunc(d, s.close)
	}
}

// release frees what is not the program's.
func (s *session) release() {
	s.tick.Stop()
	if err := os.RemoveAll(s.root); err != nil && !errors.Is(err, os.ErrNotExist) {
		return // a process that the system does not let us end may still write there
	}
}
