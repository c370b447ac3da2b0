package event_test

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
)

// claudeNoEvent is the closed list of lines that say nothing in our
// vocabulary, and why. A line that is not mapped and not here fails.
var claudeNoEvent = map[string]string{
	"control_request/mcp_message":                      "transport: the JSON-RPC of a tool server that lives in the host; the call itself has its step",
	"control_request/hook_callback UserPromptSubmit":   "the host's own prompt, which it has as a user message",
	"control_request/hook_callback Stop":               "the result line says it",
	"control_response":                                 "transport: the program's answer to a command of the host",
	"host control_response to hook_callback":           "transport: the hook's leave to go on",
	"host control_response to mcp_message":             "transport: the answer of the host's tool server",
	"host control_request/initialize":                  "transport: the handshake",
	"host control_request/interrupt":                   "a command: the inbox has it, and the run's end tells of it",
	"host control_request/set_model":                   "a command to the engine; the next init names the model",
	"host control_request/set_permission_mode":         "a command to the engine",
	"host control_request/set_max_thinking_tokens":     "a command to the engine",
	"host control_request/rename_session":              "a command to the engine; session_title_changed tells of it",
	"host control_request/get_session_cost":            "transport: a question of the host",
	"host control_request/get_context_usage":           "transport: a question of the host",
	"host control_request/get_usage":                   "transport: a question of the host",
	"host control_request/get_binary_version":          "transport: a question of the host",
	"host control_request/get_settings":                "transport: a question of the host",
	"host control_request/list_models":                 "transport: a question of the host",
	"host control_request/mcp_status":                  "transport: a question of the host",
	"host control_request/no_such_subtype":             "transport: the recording asks on purpose for what does not exist",
	"stream_event/content_block_start":                 "an opening bracket: the first delta of a text or thinking block says the same",
	"stream_event/content_block_delta signature_delta": "the message repeats the signature",
	"stream_event/content_block_stop":                  "a closing bracket",
	"stream_event/message_stop":                        "a closing bracket: message_delta before it ended the message",
	"system/background_tasks_changed":                  "a list of the scopes that are open: task_started and task_notification say each",
	"system/task_updated":                              "the task_notification that follows says more",
	"system/thinking_tokens":                           "an estimate while the model thinks; the result has the count",
	"system/ui_invalidate":                             "for a terminal that shows the session",
	"transcript_mirror":                                "transport: the program's own file, for its own resume",
	"user/prompt of a sub-agent":                       "the input of the scope, which scope_opened has",
	"user/replay":                                      "an echo of the prompt that the host wrote",
	"user/tool_result of a step that has ended":        "a hook or a denial has ended the step already",
}

// claudeReader turns the lines of one process into events. It does what the
// executor of such a scope will have to do, with an exact account of what
// each line became.
type claudeReader struct {
	agent string
	// hooks says that the host registered tool hooks: they begin the steps.
	hooks bool

	session  string
	seq      int64
	live     int64
	now      time.Time
	run      int
	open     bool // a run is open
	input    []event.Block
	held     []heldEvent // until the run of a prompt has started
	models   map[string]*event.ModelUsage
	duration int64
	turns    int // results of this run
	owed     int // turns that ended background tasks still bring

	scopes   map[string]*claudeScope // by id; "" is the root
	byCall   map[string]string       // the scope that a Task call opened
	calls    map[string]*claudeCall
	requests map[string]string // what a control request of either side asked for
	asked    map[string]*event.Asked
	compact  *event.Compacted
	first    int64 // of the stretch that a compaction would replace
	last     int64 // seq of the last message or result before the current prompt

	events []event.Event
	// credit names the lines that an event came from, where it was written
	// later than the line was read.
	credit map[int][]string
	tally  claudeTally
}

// heldEvent is an event that waits, and the kind of line that it came from.
type heldEvent struct {
	event event.Event
	name  string
}

type claudeScope struct {
	id, agent  string
	model      string
	background bool
	closed     bool
	input      []event.Block
	cycle      int
	attempt    int
	failed     bool
	answer     *claudeAnswer
}

// claudeAnswer is an answer of the model that is not known to be whole.
type claudeAnswer struct {
	step, id, model string
	stop            event.StopReason
	firstByte       time.Duration
	calls           bool
	blocks          map[int]*event.ToolInputDelta
}

type claudeCall struct {
	name, scope string
	cycle       int
	args        json.RawMessage
	attempt     int
	begun, over bool
	asked       bool
	denied      bool
}

// claudeTally counts, for each kind of line, how often it came and what it became.
type claudeTally map[string]*claudeCount

type claudeCount struct {
	lines  int
	became map[event.Kind]int
}

func (t claudeTally) of(name string) *claudeCount {
	c := t[name]
	if c == nil {
		c = &claudeCount{became: map[event.Kind]int{}}
		t[name] = c
	}
	return c
}

func newClaudeReader(hooks bool) *claudeReader {
	return &claudeReader{
		agent: seedAgent, hooks: hooks, first: 1,
		models: map[string]*event.ModelUsage{},
		scopes: map[string]*claudeScope{"": {agent: seedAgent}},
		byCall: map[string]string{}, calls: map[string]*claudeCall{},
		requests: map[string]string{}, asked: map[string]*event.Asked{},
		credit: map[int][]string{}, tally: claudeTally{},
	}
}

// line reads one line; host says who wrote it. It fails for a line that
// nobody has described.
func (r *claudeReader) line(host bool, data []byte) error {
	var l claudeLine
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	if l.Session != "" {
		r.session = l.Session
	}
	if !l.Timestamp.IsZero() {
		r.now = l.Timestamp
	}
	before, heldBefore, inputBefore, compactBefore := len(r.events), len(r.held), r.input, r.compact
	var name string
	var err error
	if host {
		name, err = r.fromHost(&l)
	} else {
		name, err = r.fromProgram(&l, data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	count := r.tally.of(name)
	count.lines++
	for i := heldBefore; i < len(r.held); i++ {
		r.held[i].name = name
	}
	for i := before; i < len(r.events); i++ {
		from := r.credit[i]
		if from == nil {
			from = []string{name}
		}
		for _, n := range from {
			r.tally.of(n).became[r.events[i].Body.Kind()]++
		}
	}
	said := len(r.events) > before || len(r.held) != heldBefore ||
		len(r.input) != len(inputBefore) || r.compact != compactBefore
	switch _, nothing := claudeNoEvent[name]; {
	case said && nothing:
		return fmt.Errorf("%s: on the list of lines that say nothing, and yet it became an event", name)
	case !said && !nothing:
		return fmt.Errorf("%s: neither mapped nor on the list of lines that say nothing", name)
	}
	return nil
}

// eof ends what the end of the process ends.
func (r *claudeReader) eof() {
	r.flushCompaction(nil)
}

func (r *claudeReader) scope(id string) *claudeScope {
	s := r.scopes[id]
	if s == nil {
		s = r.scopes[""]
	}
	return s
}

// emit appends an event of a scope.
func (r *claudeReader) emit(s *claudeScope, step string, attempt int, body event.Body) *event.Event {
	e := event.Event{
		Header: event.Header{
			Conversation: r.session, Scope: s.id, Cycle: s.cycle, Step: step, Attempt: attempt,
			Author: s.agent, Time: r.now,
		},
		Body: body,
	}
	if r.input != nil && !r.open {
		// Between a prompt and the engine's first sign of life.
		r.held = append(r.held, heldEvent{event: e})
		return &r.held[len(r.held)-1].event
	}
	r.append(e)
	return &r.events[len(r.events)-1]
}

func (r *claudeReader) append(e event.Event) {
	if r.open {
		e.Run = fmt.Sprintf("%s-%d", seedRun, r.run)
	}
	if event.IsLive(e.Body) {
		r.live++
		e.Epoch, e.N = 1, r.live
	} else {
		r.seq++
		e.Seq = r.seq
		switch e.Body.(type) {
		case *event.AssistantMessage, *event.StepEnded:
			r.last = r.seq
		}
	}
	r.events = append(r.events, e)
}

// operator takes the last event from the clients' eyes.
func (r *claudeReader) operator(e *event.Event) { e.Audience = event.Operator }

func (r *claudeReader) notice(l *claudeLine, data []byte, code, text string) *event.Event {
	var rest map[string]json.RawMessage
	if err := json.Unmarshal(data, &rest); err != nil {
		panic(err) // the line was read a moment ago
	}
	for _, k := range []string{"type", "subtype", "uuid", "session_id", "message", "timestamp", "parent_tool_use_id", "content"} {
		delete(rest, k)
	}
	n := &event.Notice{Code: code, Text: text}
	if len(rest) > 0 {
		n.Data = asJSON(rest)
	}
	return r.emit(r.scope(l.Agent), "", 0, n)
}

// start begins a run: the engine has answered.
func (r *claudeReader) start(l *claudeLine) {
	r.run++
	r.open, r.duration, r.turns, r.owed = true, 0, 0, 0
	r.models = map[string]*event.ModelUsage{}
	root := r.scopes[""]
	root.cycle, root.failed, root.model = 0, false, l.Model
	started := &event.RunStarted{Agent: r.agent, Model: l.Model, Turn: r.run, Session: 1}
	if len(l.Tools) > 0 {
		started.Tools = l.Tools
	}
	for _, s := range l.Servers {
		started.Servers = append(started.Servers, event.ToolServer{Name: s.Name, Status: s.Status})
	}
	r.append(event.Event{Header: event.Header{Conversation: r.session, Author: r.agent, Time: r.now}, Body: started})
	if r.input != nil {
		r.credit[len(r.events)] = []string{"host user"}
		r.append(event.Event{
			Header: event.Header{Conversation: r.session, Author: event.UserAuthor, Time: r.now},
			Body:   &event.UserMessage{Content: r.input},
		})
		r.input = nil
	}
	held := r.held
	r.held = nil
	for _, h := range held {
		r.credit[len(r.events)] = []string{h.name}
		r.append(h.event)
	}
}

func (r *claudeReader) fromHost(l *claudeLine) (string, error) {
	switch l.Type {
	case "user":
		blocks, _, err := claudeContent(l.Message)
		r.input = blocks
		return "host user", err
	case "control_request":
		r.requests[l.RequestID] = l.Request.Subtype
		if l.Request.Subtype == "initialize" && l.Request.Hooks["PreToolUse"] != nil {
			r.hooks = true
		}
		return "host control_request/" + l.Request.Subtype, nil
	case "control_response":
		to := r.requests[l.Response.RequestID]
		if to == "can_use_tool" {
			return "host control_response to " + to, r.answered(l.Response)
		}
		return "host control_response to " + to, nil
	}
	return "host " + l.Type, nil
}

// answered reads the host's word on a call.
func (r *claudeReader) answered(resp *claudeResponse) error {
	var p claudePermission
	if err := json.Unmarshal(resp.Response, &p); err != nil {
		return err
	}
	asked := r.asked[resp.RequestID]
	call := r.calls[asked.Call]
	value := event.Approval{
		Approved: p.Behavior == "allow", Args: compactJSON(p.Input), Reason: p.Message, Stop: p.Interrupt,
	}
	e := r.emit(r.scope(call.scope), asked.Call, 0, &event.Answered{
		Token: asked.Token, Value: asJSON(value), By: event.UserAuthor,
	})
	e.Author = event.UserAuthor
	call.denied = !value.Approved
	r.begin(asked.Call) // the call goes on with the answer
	return nil
}

func (r *claudeReader) fromProgram(l *claudeLine, data []byte) (string, error) {
	if l.Type != "user" {
		r.flushCompaction(nil)
	}
	switch l.Type {
	case "assistant":
		return r.assistant(l)
	case "user":
		return r.user(l, data)
	case "result":
		return "result/" + l.Subtype, r.result(l, data)
	case "stream_event":
		return r.stream(l)
	case "system":
		return r.system(l, data)
	case "control_request":
		return r.request(l)
	case "control_response":
		return "control_response", nil
	case "transcript_mirror":
		return l.Type, nil
	}
	return l.Type, fmt.Errorf("a type that nobody has described")
}

// claudeContent reads a message's content: a string or blocks.
func claudeContent(message json.RawMessage) ([]event.Block, []claudeBlock, error) {
	var m claudeMessage
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, nil, err
	}
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return says(s), []claudeBlock{{Type: "text", Text: s}}, nil
	}
	var raw []claudeBlock
	if err := json.Unmarshal(m.Content, &raw); err != nil {
		return nil, nil, err
	}
	var blocks []event.Block
	for _, b := range raw {
		block, err := b.ours()
		if err != nil {
			return nil, nil, err
		}
		blocks = append(blocks, block)
	}
	return blocks, raw, nil
}

func (b *claudeBlock) ours() (event.Block, error) {
	switch b.Type {
	case "text":
		return &event.Text{Text: b.Text}, nil
	case "thinking":
		return &event.Thinking{Text: b.Thinking, Signature: b.Signature}, nil
	case "redacted_thinking":
		return &event.RedactedThinking{Data: b.Data}, nil
	case "tool_use":
		return &event.ToolCall{ID: b.ID, Name: b.Name, Args: compactJSON(b.Input)}, nil
	case "tool_result":
		res := &event.ToolResult{Call: b.Call, IsError: b.IsError}
		if b.Content != nil {
			content, _, err := claudeContent(asJSON(map[string]json.RawMessage{"content": b.Content}))
			if err != nil {
				return nil, err
			}
			res.Content = content
		}
		return res, nil
	}
	return nil, fmt.Errorf("a block of type %q", b.Type)
}

// answerIn gives the answer that a line belongs to and begins its model call
// where it is the first sign of it.
func (r *claudeReader) answerIn(s *claudeScope, id, model string) *claudeAnswer {
	if s.answer != nil && s.answer.id == id {
		return s.answer
	}
	r.whole(s, "", nil)
	why := event.WhyToolResults
	switch {
	case s.failed:
		why = event.WhyRetry
		s.attempt++
	default:
		if s.cycle == 0 {
			why = event.WhyInput
		}
		s.cycle++
		s.attempt = 1
	}
	s.failed = false
	step := fmt.Sprintf("model-%d", s.cycle)
	if s.id != "" {
		step = s.id + "/" + step
	}
	if s.id == "" && r.run > 1 {
		step = fmt.Sprintf("%d/%s", r.run, step)
	}
	s.answer = &claudeAnswer{step: step, id: id, model: model, blocks: map[int]*event.ToolInputDelta{}}
	r.emit(s, step, s.attempt, &event.StepBegun{Step: event.StepModel, Why: why, Model: model})
	return s.answer
}

// whole ends the answer that is open in s.
func (r *claudeReader) whole(s *claudeScope, stop event.StopReason, usage *claudeUsage) {
	a := s.answer
	if a == nil {
		return
	}
	s.answer = nil
	m := &event.AssistantMessage{
		Stop: a.stop, Model: a.model, Response: a.id, TimeToFirstByte: a.firstByte,
	}
	switch {
	case m.Stop != "":
	case stop != "":
		m.Stop = stop
	case a.calls:
		m.Stop = event.StopToolUse
	}
	if usage != nil {
		m.Usage = usage.ours()
	}
	r.emit(s, a.step, s.attempt, m)
}

func (r *claudeReader) assistant(l *claudeLine) (string, error) {
	s, err := r.scopeOf(l)
	if err != nil {
		return "assistant", err
	}
	if l.Error != "" {
		return "assistant/error", r.failed(s, l)
	}
	var m claudeMessage
	if err := json.Unmarshal(l.Message, &m); err != nil {
		return "assistant", err
	}
	blocks, raw, err := claudeContent(l.Message)
	if err != nil {
		return "assistant", err
	}
	if len(raw) != 1 {
		return "assistant", fmt.Errorf("%d blocks in one line: always one so far", len(raw))
	}
	name := "assistant/" + raw[0].Type
	a := r.answerIn(s, m.ID, m.Model)
	if l.Aborted {
		a.stop = event.StopCancelled
	}
	body := &event.AssistantMessage{Content: blocks, Model: m.Model, Response: m.ID, Piece: true}
	if m.Stop != nil { // a whole answer at once, after a stream that broke
		body.Piece, body.Stop, body.Usage = false, oursOf(anthropicStops, *m.Stop), m.Usage.ours()
		s.answer = nil
	}
	r.emit(s, a.step, s.attempt, body)
	for _, c := range event.CallsOf(blocks) {
		a.calls = true
		r.calls[c.ID] = &claudeCall{name: c.Name, scope: s.id, cycle: s.cycle, args: c.Args}
		if !r.hooks {
			r.begin(c.ID)
		}
	}
	return name, nil
}

// failed reads the message that the program makes up for an error.
func (r *claudeReader) failed(s *claudeScope, l *claudeLine) error {
	blocks, _, err := claudeContent(l.Message)
	if err != nil {
		return err
	}
	e := &event.Error{
		Kind: claudeErrorKind(l.Error, l.ErrorStatus), Message: event.TextOf(blocks), Code: l.Error,
	}
	if e.Kind == event.ErrMaxTokens { // the answers were given; the error is about their length
		r.whole(s, event.StopMaxTokens, nil)
		r.emit(s, "", 0, &event.Fault{Err: e})
		return nil
	}
	a := r.answerIn(s, "", s.model)
	s.answer = nil
	s.failed = true
	r.emit(s, a.step, s.attempt, &event.StepEnded{
		Step: event.StepModel, Outcome: event.OutcomeFailed, Err: e, UsageUnknown: true,
	})
	return nil
}

func (r *claudeReader) scopeOf(l *claudeLine) (*claudeScope, error) {
	if l.ParentCall == "" {
		return r.scopes[""], nil
	}
	id, ok := r.byCall[l.ParentCall]
	if !ok {
		return nil, fmt.Errorf("the call %s has opened no scope", l.ParentCall)
	}
	if l.Agent != "" && l.Agent != id {
		return nil, fmt.Errorf("the call %s has opened scope %s, and the line says %s", l.ParentCall, id, l.Agent)
	}
	return r.scopes[id], nil
}

// begin says that a tool call starts.
func (r *claudeReader) begin(id string) {
	c := r.calls[id]
	c.begun, c.asked = true, false
	c.attempt++
	e := r.emit(r.scope(c.scope), id, c.attempt, &event.StepBegun{Step: event.StepTool, Call: id, Tool: c.name})
	e.Cycle = c.cycle
}

// ended says that a tool call is over.
func (r *claudeReader) ended(id string, body *event.StepEnded) error {
	c := r.calls[id]
	if c == nil {
		return fmt.Errorf("a result of the call %s, which nobody made", id)
	}
	if !c.begun || c.asked { // asked: the answer stands in the other half of the dialog
		r.begin(id)
	}
	c.over = true
	body.Step, body.Result.Call, body.Result.Name = event.StepTool, id, c.name
	if body.Outcome == "" {
		body.Outcome = event.OutcomeDone
	}
	e := r.emit(r.scope(c.scope), id, c.attempt, body)
	e.Cycle = c.cycle
	return nil
}

func (r *claudeReader) user(l *claudeLine, data []byte) (string, error) {
	blocks, raw, err := claudeContent(l.Message)
	if err != nil {
		return "user", err
	}
	s, err := r.scopeOf(l)
	if err != nil {
		return "user", err
	}
	if len(raw) != 1 {
		return "user", fmt.Errorf("%d blocks in one line: always one so far", len(raw))
	}
	if res, ok := blocks[0].(*event.ToolResult); ok {
		return r.toolResult(l, res)
	}
	said := event.TextOf(blocks)
	if l.Synthetic && r.compact != nil {
		r.flushCompaction(blocks)
		return "user/summary of a compaction", nil
	}
	r.flushCompaction(nil)
	switch {
	case l.Synthetic:
		// The program's own words to its model: no person said them, no client sees them.
		r.operator(r.emit(s, "", 0, &event.UserMessage{Content: blocks}))
		return "user/synthetic", nil
	case strings.HasPrefix(said, "<local-command-stdout>"):
		r.notice(l, data, "local_command_output", said)
		return "user/output of a command", nil
	case strings.HasPrefix(said, "[Request interrupted"):
		r.notice(l, data, "interrupted", said)
		return "user/interrupted", nil
	case l.Replay != nil && *l.Replay:
		return "user/replay", nil
	case s.id != "":
		if said != event.TextOf(s.input) {
			return "user/prompt of a sub-agent", fmt.Errorf("%q is not the input of the scope", said)
		}
		return "user/prompt of a sub-agent", nil
	}
	return "user", fmt.Errorf("text of an unknown origin: %q", said)
}

func (r *claudeReader) toolResult(l *claudeLine, res *event.ToolResult) (string, error) {
	c := r.calls[res.Call]
	if c != nil && c.over {
		return "user/tool_result of a step that has ended", nil
	}
	body := &event.StepEnded{Result: res}
	var s string
	if json.Unmarshal(l.ToolResult, &s) != nil { // a string only repeats the text
		res.Structured = compactJSON(l.ToolResult)
	}
	for _, m := range l.ResultMeta {
		switch {
		case m.Call != res.Call || m.NotRun == "" || c == nil:
		case c.denied:
			body.Err = &event.Error{Kind: event.ErrPermission, Message: event.TextOf(res.Content), Code: m.NotRun}
		default:
			body.Outcome = event.OutcomeCancelled
		}
	}
	return "user/tool_result", r.ended(res.Call, body)
}

func (r *claudeReader) stream(l *claudeLine) (string, error) {
	name := "stream_event"
	var ev claudeStreamEvent
	if err := json.Unmarshal(l.Event, &ev); err != nil {
		return name, err
	}
	name += "/" + ev.Type
	s := r.scopes[""]
	a := s.answer
	if a == nil && ev.Type != "message_start" && ev.Type != "message_stop" {
		return name, fmt.Errorf("a piece of no message")
	}
	switch ev.Type {
	case "message_start":
		r.answerIn(s, ev.Message.ID, ev.Message.Model).firstByte = milliseconds(l.FirstByte)
		return name, nil
	case "content_block_start":
		if ev.Block.Type != "tool_use" {
			return name, nil
		}
		d := &event.ToolInputDelta{Call: ev.Block.ID, Tool: ev.Block.Name, Block: ev.Index}
		a.blocks[ev.Index] = d
		r.emit(s, a.step, s.attempt, d)
		return name + " tool_use", nil
	case "content_block_delta":
		name += " " + ev.Delta.Type
		switch ev.Delta.Type {
		case "text_delta":
			r.emit(s, a.step, s.attempt, &event.TextDelta{Text: ev.Delta.Text, Block: ev.Index})
		case "thinking_delta":
			r.emit(s, a.step, s.attempt, &event.ThinkingDelta{Text: ev.Delta.Thinking, Block: ev.Index})
		case "input_json_delta":
			d := *a.blocks[ev.Index]
			d.JSON = ev.Delta.JSON
			r.emit(s, a.step, s.attempt, &d)
		}
		return name, nil
	case "message_delta":
		stop := event.StopReason("")
		if ev.Delta.Stop != nil {
			stop = oursOf(anthropicStops, *ev.Delta.Stop)
		}
		r.whole(s, stop, &ev.Usage)
		return name, nil
	case "message_stop":
		if a == nil {
			return name, nil
		}
		// No message_delta came: the stream broke, and the program tries again.
		s.answer, s.failed = nil, true
		r.emit(s, a.step, s.attempt, &event.StepEnded{
			Step: event.StepModel, Outcome: event.OutcomeFailed, UsageUnknown: true,
			Err: &event.Error{Kind: event.ErrStreamCut, Message: "The model's answer broke off."},
		})
		return name + " of a broken stream", nil
	}
	return name, nil
}

func (r *claudeReader) system(l *claudeLine, data []byte) (string, error) {
	name := "system/" + l.Subtype
	switch l.Subtype {
	case "init":
		if r.open {
			r.operator(r.notice(l, data, "turn_started", ""))
			return name + " of a further turn", nil
		}
		r.start(l)
	case "task_started":
		return name, r.taskStarted(l)
	case "task_progress":
		c := r.calls[l.Call]
		if c == nil {
			return name, fmt.Errorf("progress of the call %s, which nobody made", l.Call)
		}
		r.emit(r.scope(c.scope), l.Call, c.attempt, &event.ToolProgress{
			Call: l.Call, Tool: c.name, Text: l.Description,
			Data: asJSON(map[string]any{"last_tool_name": l.LastTool, "usage": l.Usage}),
		}).Cycle = c.cycle
	case "task_notification":
		return name, r.taskEnded(l)
	case "permission_denied":
		var message string
		if err := json.Unmarshal(l.Message, &message); err != nil {
			return name, err
		}
		return name, r.ended(l.Call, &event.StepEnded{
			Result: &event.ToolResult{Content: says(message), IsError: true},
			Err:    &event.Error{Kind: event.ErrPermission, Message: message},
		})
	case "compact_boundary":
		r.compact = &event.Compacted{
			From: r.first, To: r.last,
			Trigger: map[string]string{"auto": "limit", "manual": "manual"}[l.Compact.Trigger],
		}
	case "api_retry", "status", "informational", "model_fallback", "model_refusal_no_fallback":
		r.notice(l, data, l.Subtype, l.Text)
	case "session_title_changed":
		r.notice(l, data, l.Subtype, l.Title)
	case "session_state_changed":
		r.operator(r.notice(l, data, l.Subtype, ""))
	}
	return name, nil
}

func (r *claudeReader) flushCompaction(summary []event.Block) {
	if r.compact == nil {
		return
	}
	c := r.compact
	r.compact = nil
	c.Summary = summary
	from := []string{"system/compact_boundary"}
	if summary != nil {
		from = append(from, "user/summary of a compaction")
	}
	r.credit[len(r.events)] = from
	r.emit(r.scopes[""], "", 0, c)
	r.first = r.seq
}

func (r *claudeReader) taskStarted(l *claudeLine) error {
	if r.scopes[l.Task] != nil {
		return fmt.Errorf("the task %s is open already", l.Task)
	}
	parent := r.scope(l.ParentTask)
	s := &claudeScope{id: l.Task, agent: l.SubagentType, background: l.Background, input: says(l.Prompt)}
	r.scopes[s.id], r.byCall[l.Call] = s, s.id
	r.emit(parent, "", 0, &event.ScopeOpened{
		ID: s.id, Parent: parent.id, Call: l.Call, Agent: s.agent, Depth: l.Depth,
		Input: s.input, Background: s.background,
	})
	return nil
}

func (r *claudeReader) taskEnded(l *claudeLine) error {
	s := r.scopes[l.Task]
	if s == nil || s.closed {
		return fmt.Errorf("the task %s is not open", l.Task)
	}
	body := &event.ScopeClosed{ID: s.id}
	stop := event.StopReason("")
	switch l.Status {
	case "completed":
		stop = event.StopEndTurn
		body.Output, body.Stop, body.Why = says(l.Summary), stop, event.WhyEndTurn
	case "failed":
		body.Stop, body.Why = event.StopError, event.WhyFailed
		body.Err = &event.Error{Kind: event.ErrModel, Message: l.Summary}
	case "stopped":
		stop = event.StopCancelled
		body.Stop, body.Why = stop, event.WhyCancelled
	default:
		return fmt.Errorf("a task that ended %q", l.Status)
	}
	if s.answer != nil && s.answer.calls {
		stop = "" // its calls were not answered: the answer itself stopped for them
	}
	r.whole(s, stop, nil)
	s.closed = true
	parent := r.scope(l.ParentTask)
	r.emit(parent, "", 0, body)
	if s.background {
		r.owed++
	}
	return nil
}

// result ends a turn of the program, and the run when nothing else is to come:
// a background task that has ended brings a turn of its own.
func (r *claudeReader) result(l *claudeLine, data []byte) error {
	if !r.open {
		r.start(&claudeLine{})
	}
	stop := event.StopReason("")
	if l.Stop != "" {
		stop = oursOf(anthropicStops, l.Stop)
	}
	r.whole(r.scopes[""], stop, nil)
	r.duration += l.Duration
	for name, u := range l.SinceLast {
		m := r.models[name]
		if m == nil {
			m = &event.ModelUsage{Model: name, CostNanoUSD: new(int64)}
			r.models[name] = m
		}
		m.Usage = m.Usage.Add(u.ours())
		*m.CostNanoUSD += int64(math.Round(u.Cost * 1e9))
	}
	if r.turns > 0 && r.owed > 0 {
		r.owed--
	}
	r.turns++
	more := r.owed > 0
	for _, s := range r.scopes {
		more = more || s.background && !s.closed
	}
	if more {
		r.operator(r.notice(l, data, "turn_ended", ""))
		return nil
	}
	r.emit(r.scopes[""], "", 0, r.runEnded(l, stop))
	r.open = false
	return nil
}

func (r *claudeReader) runEnded(l *claudeLine, stop event.StopReason) *event.RunEnded {
	end, known := claudeEnds[l.Terminal]
	if !known {
		end = claudeEnd{status: event.RunCompleted, why: event.WhyEndTurn}
		if l.IsError {
			end = claudeEnd{status: event.RunFailed, stop: event.StopError, why: event.WhyFailed, kind: event.ErrModel}
		}
	}
	if end.stop != "" {
		stop = end.stop
	}
	out := &event.RunEnded{
		Status: end.status, Stop: stop, Why: end.why, Cycles: r.scopes[""].cycle,
		Duration: milliseconds(r.duration), Output: compactJSON(l.Structured), CostNanoUSD: new(int64),
	}
	if end.kind == "" && l.IsError {
		end.kind = claudeErrorKind(l.APIError, l.ErrorStatus)
		if l.APIError == "max_output_tokens" {
			out.Stop, out.Why = event.StopMaxTokens, event.WhyMaxTokens
		}
	}
	if end.kind != "" {
		out.Err = &event.Error{Kind: end.kind, Message: end.kind.Info().Meaning, Code: l.ErrorType}
		switch {
		case end.status == event.RunCancelled: // its error texts are diagnostics of the program
		case l.Result != "":
			out.Err.Message = l.Result
		case len(l.Errors) > 0:
			out.Err.Message = strings.Join(l.Errors, "\n")
		}
	}
	for _, m := range r.models {
		out.Models = append(out.Models, *m)
		out.Usage = out.Usage.Add(m.Usage)
		*out.CostNanoUSD += *m.CostNanoUSD
	}
	sort.Slice(out.Models, func(i, j int) bool { return out.Models[i].Model < out.Models[j].Model })
	return out
}

func (r *claudeReader) request(l *claudeLine) (string, error) {
	q := l.Request
	name := "control_request/" + q.Subtype
	r.requests[l.RequestID] = q.Subtype
	switch q.Subtype {
	case "can_use_tool":
		c := r.calls[q.Call]
		if c == nil {
			return name, fmt.Errorf("a question about the call %s, which nobody made", q.Call)
		}
		asked := &event.Asked{
			Token: l.RequestID, Ask: event.AskApproval, Prompt: q.Description,
			Call: q.Call, Tool: q.Tool, Args: compactJSON(q.Input),
			Payload: asJSON(map[string]any{"blocked_path": q.Blocked, "permission_suggestions": q.Suggestions}),
		}
		r.asked[asked.Token], c.asked = asked, true
		r.emit(r.scope(c.scope), q.Call, c.attempt, asked).Cycle = c.cycle
	case "hook_callback":
		var in claudeHookInput
		if err := json.Unmarshal(q.Input, &in); err != nil {
			return name, err
		}
		name += " " + in.Event
		switch in.Event {
		case "PreToolUse":
			if r.calls[in.Call] == nil {
				return name, fmt.Errorf("a hook for the call %s, which nobody made", in.Call)
			}
			r.begin(in.Call)
		case "PostToolUse":
			return name, r.ended(in.Call, &event.StepEnded{
				Result:   &event.ToolResult{Structured: compactJSON(in.Response)},
				Duration: milliseconds(in.Duration),
			})
		}
	}
	return name, nil
}
