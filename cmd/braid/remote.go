package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/printer"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/native"
)

// remote is a conversation on a server.
type remote struct {
	client *client.Client
	// conv is empty before the first input.
	conv string
	show printer.Printer
	ask  *asker
	ints *term.Interrupts
	// model is the requested model; empty is the server's.
	model   string
	schema  json.RawMessage
	limits  client.Limits
	timeout time.Duration
	// simulated is called once if the server's model follows a script.
	simulated func(model string)
	told      bool
	// run is the last printed run; empty before the first one.
	run string
}

// openRemote connects to the server and finds the conversation of --continue.
func (p *process) openRemote(ctx context.Context, cfg *conf.Config, in *conf.Invocation) (*remote, error) {
	address := in.Flags["server"]
	token, err := p.FindToken(cfg, in.Flags["token-file"], address)
	if err != nil {
		return nil, err
	}
	c, err := client.New(address, token, client.Options{})
	if err != nil {
		return nil, err
	}
	r := &remote{client: c, timeout: cfg.Timeout, schema: cfg.Schema, simulated: func(model string) {
		screen := p.NewScreen(p.Stderr, cfg.Color)
		line := term.CleanLine(model) + " is a simulated model: its words follow a script, its tools are real, nothing is charged."
		_, _ = p.Stderr.Write(append(screen.Paint(nil, term.Yellow, line), '\n')) // the summary repeats it
	}}
	r.limits = cfg.RemoteLimits()
	if cfg.Values["model"].Source != "default" {
		r.model = cfg.Model
	}
	id, goesOn := in.Flags["continue"]
	if !goesOn {
		return r, nil
	}
	for found, err := range c.List(ctx, client.Filter{}) {
		if err != nil {
			return nil, err
		}
		if id == "" || id == newest || strings.HasPrefix(found.ID, id) || strings.HasPrefix(found.ID, "conv_"+id) {
			r.conv = found.ID
			return r, nil
		}
	}
	return nil, &event.Error{
		Kind: event.ErrNotFound, Message: "the server has no such conversation", Hint: "leave --continue out to begin one",
	}
}

// turn runs one input to its end and prints the summary. It returns the error of the run or of the output.
func (r *remote) turn(ctx context.Context, input string, fresh bool, files attached) error {
	ctx, release := r.ints.Guard(ctx)
	defer release()
	if err := r.prepare(ctx, fresh); err != nil {
		return err
	}
	return r.through(ctx, func(o client.RunOptions) iter.Seq2[native.Frame, error] {
		o.Attachments = files
		return r.client.Stream(ctx, r.conv, input, o)
	})
}

// retry continues the conversation's newest run, which failed.
func (r *remote) retry(ctx context.Context) error {
	ctx, release := r.ints.Guard(ctx)
	defer release()
	run := r.run
	if run == "" && r.conv != "" {
		runs, err := r.client.Runs(ctx, r.conv)
		if err != nil {
			return err
		}
		if len(runs) > 0 {
			run = runs[len(runs)-1].ID
		}
	}
	if run == "" {
		return &event.Error{Op: "retry", Kind: event.ErrConflict, Message: "there is no run to continue", Hint: "say something first"}
	}
	return r.through(ctx, func(o client.RunOptions) iter.Seq2[native.Frame, error] {
		return r.client.RetryStream(ctx, r.conv, run, o)
	})
}

// through prints one run, which begin starts.
func (r *remote) through(ctx context.Context, begin func(client.RunOptions) iter.Seq2[native.Frame, error]) error {
	if r.timeout > 0 {
		r.limits.Time = r.timeout
	}
	t := &translation{conv: r.conv}
	sum, err := r.follow(ctx, t, begin(client.RunOptions{
		Model: r.model, Limits: r.limits, Executor: "braid", Ask: r.answer(t), OutputSchema: r.schema,
	}))
	r.run = cmp.Or(t.run, r.run)
	if out, lost := errors.AsType[outputFailed](err); lost {
		r.leave(t.run)
		return out.err
	}
	if ctx.Err() != nil {
		r.leave(t.run)
		if r.ints.Interrupted() {
			err = term.ErrInterrupted
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		r.leave(t.run)
		err = errNoUser(&t.asked)
	case errors.Is(err, term.ErrAborted):
		r.leave(t.run)
		err = term.ErrInterrupted
	}
	sum.Conversation, sum.Kept = r.conv, true
	if err != nil {
		sum.Exit = term.KindOf(err).Info().Exit
		if !errors.As(err, &sum.Error) {
			sum.Error = &event.Error{Kind: term.KindOf(err), Message: term.KindOf(err).Info().Meaning}
		}
	}
	if showErr := r.show.End(sum); showErr != nil {
		return term.OutputError(showErr)
	}
	return err
}

// prepare creates the conversation, or begins a new session in it.
func (r *remote) prepare(ctx context.Context, fresh bool) error {
	if r.conv == "" {
		c, err := r.client.Create(ctx, client.NewConversation{})
		if err != nil {
			return err
		}
		r.conv = c.ID
	} else if fresh {
		_, err := r.client.Reset(ctx, r.conv)
		return err
	}
	return nil
}

// follow prints the events of a run's frames.
func (r *remote) follow(
	ctx context.Context, t *translation, frames func(func(native.Frame, error) bool),
) (sum *printer.Summary, err error) {
	sum = &printer.Summary{Kind: "result"}
	begun := time.Now()
	defer func() { sum.Duration = time.Since(begun) }()
	for f, err := range frames {
		if init, ok := f.(*native.Init); ok && init.Simulated && !r.told {
			r.told = true
			r.simulated(init.Model)
		}
		for _, e := range t.events(f) {
			if showErr := r.show.Event(e); showErr != nil {
				return sum, outputFailed{term.OutputError(showErr)}
			}
		}
		t.fill(sum, f)
		if err != nil {
			return sum, err
		}
		if res, ok := f.(*native.Result); ok && res.Error != nil {
			return sum, res.Error.Err()
		}
	}
	return sum, ctx.Err()
}

// answer asks the user the run's questions.
func (r *remote) answer(t *translation) func(context.Context, *native.Question) (any, error) {
	return func(ctx context.Context, q *native.Question) (any, error) {
		t.asked = event.Asked{
			Token: q.QuestionID, Ask: q.Ask, Name: q.Name, Index: q.Index, Prompt: q.Prompt, Payload: q.Payload, Schema: q.Schema,
			Call: q.ToolUseID, Tool: q.ToolName, Args: q.ToolInput, Expires: q.ExpiresAt,
		}
		return r.ask.ask(ctx, &t.asked)
	}
}

// leave cancels a run without readers.
func (r *remote) leave(run string) {
	if run == "" {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	_ = r.client.Cancel(ctx, r.conv, run) // an error means that the run has ended or the server is gone
}

// translation converts the frames of a run to events, for the printers.
type translation struct {
	conv, run, agent string
	simulated        bool
	// message is an answer with incomplete calls.
	message *event.Event
	scopes  map[string]bool
	// nodes are the agents at the places of flows, by scope.
	nodes  map[string]string
	calls  map[string]string
	asked  event.Asked
	screen native.Screen
	seq    int64
	cycles map[string]int
}

func (t *translation) event(p *native.Place, body event.Body) *event.Event {
	e := &event.Event{Body: body}
	e.Conversation, e.Run, e.Time, e.Author, e.Simulated = t.conv, t.run, time.Now(), t.agent, t.simulated
	if !event.IsLive(body) {
		t.seq++
		e.Seq = t.seq
	}
	if p != nil {
		e.Step, e.Attempt, e.Scope = p.Step, p.Attempt, p.Parent
		if t.calls[p.Parent] != "" {
			e.Author = t.calls[p.Parent]
		}
		if at := strings.LastIndexByte(p.Step, '/'); at >= 0 && t.nodes[p.Step[:at]] != "" {
			e.Scope, e.Author = p.Step[:at], t.nodes[p.Step[:at]]
		}
	}
	return e
}

// events returns the events of a frame.
func (t *translation) events(f native.Frame) (list []*event.Event) {
	if f == nil {
		return nil
	}
	if _, more := f.(*native.ToolUse); !more && t.message != nil {
		list = append(list, t.message)
		t.message = nil
	}
	add := func(p *native.Place, body event.Body) {
		if p != nil && p.Parent != "" && !t.scopes[p.Parent] {
			t.scopes[p.Parent] = true
			list = append(list, t.event(nil, &event.ScopeOpened{ID: p.Parent, Call: p.Parent, Agent: t.calls[p.Parent], Depth: 1}))
		}
		list = append(list, t.event(p, body))
	}
	change := t.screen.Apply(f)
	switch f := f.(type) {
	case *native.Init:
		t.run, t.agent, t.simulated = f.RunID, f.Agent, f.Simulated
		t.scopes, t.calls, t.cycles, t.nodes = map[string]bool{}, map[string]string{}, map[string]int{}, map[string]string{}
		add(nil, &event.RunStarted{Agent: f.Agent, Model: f.Model, Turn: f.Turn, Tools: f.Tools, Metadata: f.Metadata})
	case *native.UserMessage:
		add(nil, &event.UserMessage{Content: []event.Block{&event.Text{Text: f.Text}}, Mail: f.MessageID})
	case *native.TextDelta:
		add(&f.Place, &event.TextDelta{Text: f.Text})
	case *native.Thinking:
		add(&f.Place, &event.ThinkingDelta{Text: f.Text})
	case *native.Snapshot:
		// Printed text cannot be removed; new text continues after it.
		if change.Replaced && change.Thinking == "" && !f.Truncated {
			add(&f.Place, &event.AnswerReplaced{Text: change.Text})
			break
		}
		if change.Text != "" {
			add(&f.Place, &event.TextDelta{Text: change.Text})
		}
		if change.Thinking != "" {
			add(&f.Place, &event.ThinkingDelta{Text: change.Thinking})
		}
	case *native.Message:
		m := &event.AssistantMessage{Stop: f.StopReason, Model: f.Model, Piece: f.Piece, Usage: usageOf(&f.Usage)}
		if f.Thinking != "" {
			m.Content = append(m.Content, &event.Thinking{Text: f.Thinking})
		}
		if f.Text != "" {
			m.Content = append(m.Content, &event.Text{Text: f.Text})
		}
		add(&f.Place, m)
		t.message = list[len(list)-1]
		list = list[:len(list)-1]
	case *native.ToolUse:
		t.calls[f.ToolUseID] = f.ToolName
		if t.message != nil {
			m := t.message.Body.(*event.AssistantMessage) //nolint:forcetypeassert // message has this body
			m.Content = append(m.Content, &event.ToolCall{ID: f.ToolUseID, Name: f.ToolName, Args: f.ToolInput, Fault: f.Fault})
		}
	case *native.ToolProgress:
		add(&f.Place, &event.ToolProgress{Call: f.ToolUseID, Tool: f.ToolName, Text: f.Text, Data: f.Data})
	case *native.ToolResult:
		outcome := f.Outcome
		if outcome == "" {
			outcome = event.OutcomeDone
		}
		add(&f.Place, &event.StepEnded{
			Step: event.StepTool, Outcome: outcome, Duration: time.Duration(f.DurationMS) * time.Millisecond,
			Result: &event.ToolResult{
				Call: f.ToolUseID, Name: f.ToolName, IsError: f.IsError, Structured: f.Structured,
				Content: []event.Block{&event.Text{Text: f.Content}},
			},
		})
	case *native.SubagentStart:
		t.calls[f.ToolUseID], t.scopes[f.ToolUseID] = f.SubagentType, true
		add(&f.Place, &event.ScopeOpened{
			ID: f.ToolUseID, Parent: f.Parent, Call: f.ToolUseID, Agent: f.SubagentType, Depth: 1, Task: true, Background: f.Background,
			Description: f.Description, Asked: f.ModelAlias, Model: f.Model,
		})
	case *native.SubagentEnd:
		closed := &event.ScopeClosed{ID: f.ToolUseID}
		if f.Result != "" {
			closed.Output = []event.Block{&event.Text{Text: f.Result}}
		}
		if f.Error != nil {
			closed.Err = f.Error.Err()
		}
		add(&native.Place{Parent: f.Parent}, closed)
	case *native.NodeStart:
		t.nodes[f.Scope] = f.Agent
		opened := &event.ScopeOpened{ID: f.Scope, Parent: f.ParentScope, Node: f.Node, Agent: f.Agent, Depth: 1}
		add(&native.Place{Parent: f.Parent}, opened)
		list[len(list)-1].Branch = f.Branch
	case *native.NodeEnd:
		closed := &event.ScopeClosed{ID: f.Scope}
		if f.Error != nil {
			closed.Err = f.Error.Err()
		}
		add(&native.Place{Parent: f.Parent}, closed)
		list[len(list)-1].Scope = f.Scope
	case *native.Transfer:
		if f.Scope != "" {
			t.nodes[f.Scope] = f.To
		} else {
			t.agent = f.To
		}
		moved := t.event(&f.Place, &event.Transferred{From: f.From, To: f.To})
		moved.Scope = f.Scope
		list = append(list, moved)
	case *native.Retry:
		ended := &event.StepEnded{Step: event.StepModel, Outcome: event.OutcomeFailed, RetryAt: f.RetryAt, Fallback: f.Model}
		if f.Error != nil {
			ended.Err = f.Error.Err()
		}
		add(&f.Place, ended)
	case *native.Redacted:
		add(nil, &event.Redacted{Target: f.Target, Replacement: []event.Block{&event.Text{Text: f.Text}}})
	case *native.Notice:
		add(&f.Place, &event.Notice{Code: f.Code, Text: f.Message})
	case *native.Result:
		add(nil, t.ended(&f.End, f.Error))
	case *native.Error:
		if f.Run != nil {
			add(nil, t.ended(f.Run, f))
		}
	}
	return list
}

func (t *translation) ended(end *native.End, err *native.Error) *event.RunEnded {
	b := &event.RunEnded{
		Status: end.Status, Stop: end.StopReason, Cycles: end.NumTurns, Duration: time.Duration(end.DurationMS) * time.Millisecond,
		Usage: usageOf(&end.Usage), CostNanoUSD: nanoOf(end.TotalCostUSD),
		Files: end.FileChanges, MoreFiles: end.MoreFileChanges,
	}
	if err != nil {
		b.Err = err.Err()
	}
	return b
}

// nanoOf is a cost in 1e-9 US dollars; nil is unknown.
func nanoOf(dollars *float64) *int64 {
	if dollars == nil {
		return nil
	}
	nano := int64(math.Round(*dollars * 1e9))
	return &nano
}

func usageOf(u *native.Usage) event.Usage {
	return event.Usage{
		Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens,
		Reasoning: u.ReasoningTokens, Total: u.TotalTokens, WebSearches: u.WebSearches, FileSearches: u.FileSearches,
	}
}

// fill copies a frame's values into the summary.
func (t *translation) fill(s *printer.Summary, f native.Frame) {
	s.Run, s.Simulated = t.run, t.simulated
	switch f := f.(type) {
	case *native.Init:
		s.Model = f.Model
	case *native.Message:
		if f.Parent == "" && !f.Piece {
			s.Text = f.Text
		}
		s.ModelCalls++
	case *native.ToolResult:
		s.ToolCalls++
		if f.IsError {
			s.ToolErrors++
		}
	case *native.Result:
		s.Text, s.Stop, s.Cycles, s.Usage = f.Result, f.StopReason, f.NumTurns, usageOf(&f.Usage)
		s.Output = f.StructuredOutput
		s.Cost = nanoOf(f.TotalCostUSD)
	case *native.Error:
		if f.Run != nil {
			s.Stop, s.Cycles, s.Usage = f.Run.StopReason, f.Run.NumTurns, usageOf(&f.Run.Usage)
			s.Cost = nanoOf(f.Run.TotalCostUSD)
		}
	}
}
