package runner

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Model is the program as a model: a call is the program's next answer.
type Model struct {
	options Options
	// own are the names of the program's tools that the agent has.
	own map[string]bool

	mu sync.Mutex
	// sessions are the running programs, by run and scope.
	sessions map[string]*session
	// followed are the runs whose events are sent to this agent's hook.
	followed map[string]bool
}

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	name := m.options.Model
	if name == "" {
		name = "claude"
	}
	return model.Info{Name: name, ContextWindow: m.options.ContextWindow, Cost: m.options.Cost}
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		s, t, err := m.thread(ctx, req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		a := &answer{session: s, thread: t, yield: yield, scope: req.Scope, cycle: req.Cycle}
		if err := a.run(ctx); err != nil {
			s.close()
			if !a.left {
				yield(model.Chunk{}, err)
			}
			return
		}
		t.seen = len(req.Messages) + 1
		if a.over && t.call == "" {
			s.close()
		}
	}
}

// thread returns the program that is to answer: the one that waits where the messages end, or a new one.
func (m *Model) thread(ctx context.Context, req *model.Request) (*session, *thread, error) {
	if req.ToolChoice.Mode != model.ToolsFree {
		return nil, nil, &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "the program cannot be told which tools to call", Hint: "leave ToolChoice out",
		}
	}
	if !m.follows(req.Run) {
		return nil, nil, &event.Error{
			Op: op, Kind: event.ErrUnsupported, Message: "an agent of the Claude program must be the first agent of its run",
			Hint: "run it by itself, or give its sub-agents with Options.Agents",
		}
	}
	if s := m.session(req.Run, req.Scope); s != nil {
		if t := s.thread(""); t.goesOn(req) {
			s.goOn(t)
			return s, t, nil
		}
		s.close()
	} else if s, call := m.parent(req); s != nil {
		t := s.thread(call)
		if req.Attempt <= 1 && (t.seen == 0 && len(req.Messages) == 1 || t.goesOn(req)) {
			if t.seen == 0 {
				s.decide(call, true, nil, "")
			}
			s.goOn(t)
			return s, t, nil
		}
	}
	s, err := m.start(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	return s, s.thread(""), nil
}

// parent returns the program in which a sub-agent works, and the call that started it; nil for none.
func (m *Model) parent(req *model.Request) (*session, string) {
	if req.Scope == "" {
		return nil, ""
	}
	s := m.session(req.Run, parentOf(req.Scope))
	if s == nil {
		return nil, ""
	}
	call := s.callAt(req.Scope)
	if call == "" {
		return nil, ""
	}
	return s, call
}

// goesOn reports whether a request is what the program has, with the results that it waits for.
func (t *thread) goesOn(req *model.Request) bool {
	if t.seen == 0 || len(req.Messages) != t.seen+1 || req.Attempt > 1 {
		return false
	}
	for _, b := range req.Messages[len(req.Messages)-1].Content {
		if _, ok := b.(*event.ToolResult); !ok {
			return false // the user has said something meanwhile
		}
	}
	return true
}

func key(run, scope string) string { return run + "\x00" + scope }

// session returns the program of a scope; nil for none.
func (m *Model) session(run, scope string) *session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[key(run, scope)]
}

// running returns the program in which a scope works: its own, or one above it.
func (m *Model) running(run, scope string) *session {
	for {
		if s := m.session(run, scope); s != nil || scope == "" {
			return s
		}
		scope = parentOf(scope)
	}
}

func (m *Model) follow(run string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.followed == nil {
		m.followed = map[string]bool{}
	}
	m.followed[run] = true
}

func (m *Model) follows(run string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.followed[run]
}

// let ends the programs of a run, at once or, where the run waits, after the idle time.
func (m *Model) let(run string, waits bool) {
	m.mu.Lock()
	delete(m.followed, run)
	var list []*session
	for k, s := range m.sessions {
		if strings.HasPrefix(k, run+"\x00") {
			list = append(list, s)
		}
	}
	m.mu.Unlock()
	for _, s := range list {
		if waits && m.options.idle() > 0 {
			s.closeAfter(m.options.idle())
		} else {
			s.close()
		}
	}
}

// op is the operation in this package's errors.
const op = "claude"

// mostWait bounds how long a hook of the program waits for Braid.
const mostWait = 30 * 24 * time.Hour
