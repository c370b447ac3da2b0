package event_test

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"
	"unicode"

	"github.com/braidrun/braid/event"
)

// Seed 5: ADK's events. Snake case is read, camelCase written.

type adkEvent struct {
	ID           string     `json:"id,omitempty"`
	InvocationID string     `json:"invocationId,omitempty"`
	Author       string     `json:"author,omitempty"`
	Timestamp    float64    `json:"timestamp,omitempty"`
	Branch       string     `json:"branch,omitempty"`
	Content      *adkText   `json:"content,omitempty"`
	Actions      adkActions `json:"actions,omitzero"`
	LongRunning  []string   `json:"longRunningToolIds,omitempty"`
	Partial      bool       `json:"partial,omitempty"`
	TurnComplete bool       `json:"turnComplete,omitempty"`
	FinishReason string     `json:"finishReason,omitempty"`
	ErrorCode    string     `json:"errorCode,omitempty"`
	ErrorMessage string     `json:"errorMessage,omitempty"`
	Usage        *adkUsage  `json:"usageMetadata,omitempty"`
	Model        string     `json:"modelVersion,omitempty"`
}

type adkText struct {
	Role  string    `json:"role,omitempty"`
	Parts []adkPart `json:"parts"`
}

type adkPart struct {
	Text       string       `json:"text,omitempty"`
	Thought    bool         `json:"thought,omitempty"`
	Signature  string       `json:"thoughtSignature,omitempty"`
	Call       *adkCall     `json:"functionCall,omitempty"`
	Response   *adkResponse `json:"functionResponse,omitempty"`
	Inline     *adkBlob     `json:"inlineData,omitempty"`
	File       *adkFile     `json:"fileData,omitempty"`
	Code       *adkCode     `json:"executableCode,omitempty"`
	CodeResult *adkCodeDone `json:"codeExecutionResult,omitempty"`
}

type adkCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type adkResponse struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response,omitempty"`
}

type adkBlob struct {
	MIME string `json:"mimeType"`
	Data []byte `json:"data"`
	Name string `json:"displayName,omitempty"`
}

type adkFile struct {
	MIME string `json:"mimeType,omitempty"`
	URI  string `json:"fileUri"`
}

type adkCode struct {
	Language string `json:"language"`
	Code     string `json:"code"`
}

type adkCodeDone struct {
	Outcome string `json:"outcome"`
	Output  string `json:"output"`
}

type adkActions struct {
	StateDelta    map[string]json.RawMessage `json:"stateDelta,omitempty"`
	ArtifactDelta map[string]int             `json:"artifactDelta,omitempty"`
	Transfer      string                     `json:"transferToAgent,omitempty"`
	Escalate      bool                       `json:"escalate,omitempty"`
	SkipSummary   bool                       `json:"skipSummarization,omitempty"`
}

type adkUsage struct {
	Prompt     int64 `json:"promptTokenCount,omitempty"`
	Candidates int64 `json:"candidatesTokenCount,omitempty"`
	Total      int64 `json:"totalTokenCount,omitempty"`
	Cached     int64 `json:"cachedContentTokenCount,omitempty"`
	Thoughts   int64 `json:"thoughtsTokenCount,omitempty"`
}

// The names of ADK's own calls: questions in the dress of a long-running tool.
const (
	adkConfirm    = "adk_request_confirmation"
	adkCredential = "adk_request_credential"
	adkInput      = "adk_request_input"
)

type adkConfirmArgs struct {
	Original adkCall `json:"originalFunctionCall"`
	Tool     struct {
		Hint      string          `json:"hint,omitempty"`
		Confirmed bool            `json:"confirmed"`
		Payload   json.RawMessage `json:"payload,omitempty"`
	} `json:"toolConfirmation"`
}

type adkCredentialArgs struct {
	Call   string          `json:"functionCallId"`
	Config json.RawMessage `json:"authConfig"`
}

type adkInputArgs struct {
	Interrupt string          `json:"interruptId,omitempty"`
	Message   string          `json:"message,omitempty"`
	Schema    json.RawMessage `json:"responseSchema,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"`
}

type adkConfirmation struct {
	Confirmed bool            `json:"confirmed"`
	Payload   json.RawMessage `json:"payload,omitempty"`
}

// adkErrors are the codes that have a kind of ours.
var adkErrors = map[string]event.ErrorKind{
	"RESOURCE_EXHAUSTED": event.ErrThrottled, "UNAVAILABLE": event.ErrOverloaded, "MAX_TOKENS": event.ErrMaxTokens,
}

// camelKeys turns snake_case keys into camelCase where the keys are ADK's own:
// what stands in arguments, responses and deltas belongs to somebody else.
func camelKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			k = camel(k)
			switch k {
			case "args", "response", "stateDelta", "artifactDelta":
				out[k] = e
			default:
				out[k] = camelKeys(e)
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = camelKeys(v[i])
		}
	}
	return v
}

func camel(s string) string {
	var b strings.Builder
	up := false
	for _, r := range s {
		switch {
		case r == '_':
			up = true
		case up:
			b.WriteRune(unicode.ToUpper(r))
			up = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// withoutComments drops what stands behind "//", which the seed's examples have.
func withoutComments(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l, _, _ = strings.Cut(l, " //")
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

// plainADK: snake and camel are the same; null, false and empty are absent.
func plainADK(frame string) (any, error) {
	v, err := plainJSON(withoutComments(frame))
	if err != nil {
		return nil, err
	}
	return withoutEmpty(camelKeys(v)), nil
}

func withoutEmpty(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for k, e := range m {
		switch e := e.(type) {
		case bool:
			if !e && k != "confirmed" {
				delete(m, k)
			}
		case map[string]any:
			if len(e) == 0 && k != "args" && k != "response" {
				delete(m, k)
				continue
			}
			if k != "args" && k != "response" {
				withoutEmpty(e)
			}
		}
	}
	return m
}

// adkReader reads ADK events of one conversation.
type adkReader struct {
	names map[string]string
	asked map[string]event.QuestionKind
	made  int
	live  int64
}

func readADK(frames []string) ([]event.Event, error) {
	r := &adkReader{names: map[string]string{}, asked: map[string]event.QuestionKind{}}
	var events []event.Event
	for _, f := range frames {
		var v any
		if err := json.Unmarshal([]byte(withoutComments(f)), &v); err != nil {
			return nil, err
		}
		var e adkEvent
		if err := json.Unmarshal(asJSON(camelKeys(v)), &e); err != nil {
			return nil, err
		}
		read, err := r.event(&e)
		if err != nil {
			return nil, err
		}
		events = append(events, read...)
	}
	return events, nil
}

func (r *adkReader) event(e *adkEvent) ([]event.Event, error) {
	h := event.Header{Run: e.InvocationID, Author: e.Author, Branch: e.Branch}
	if e.Timestamp != 0 {
		sec, frac := math.Modf(e.Timestamp)
		h.Time = time.Unix(int64(sec), int64(math.Round(frac*1e6))*1000).UTC()
	}
	var events []event.Event
	add := func(step string, body event.Body) {
		h := h
		h.Step = step
		if event.IsLive(body) {
			r.live++
			h.N = r.live
		}
		events = append(events, event.Event{Header: h, Body: body})
	}
	step := "model" // what carries the actions
	var err error
	switch {
	case e.Content == nil && e.ErrorCode != "":
		kind, known := adkErrors[e.ErrorCode]
		if !known {
			kind = event.ErrModel
		}
		add("", &event.Fault{Err: &event.Error{Kind: kind, Message: e.ErrorMessage, Code: e.ErrorCode}})
		step = ""
	case e.Content == nil:
		step = ""
	case e.Partial:
		err = r.partial(e, add)
	case e.Author == event.UserAuthor:
		err = r.user(e, add)
		step = ""
	default:
		step, err = r.agent(e, add)
	}
	if err != nil {
		return nil, err
	}
	r.actions(e, step, add)
	return events, nil
}

func (r *adkReader) actions(e *adkEvent, step string, add func(string, event.Body)) {
	a := e.Actions
	set := map[string]json.RawMessage{}
	for k, v := range a.StateDelta {
		if !strings.HasPrefix(k, "temp:") { // this run only, never stored or sent
			set[k] = v
		}
	}
	if len(set) > 0 {
		add(step, &event.StateChanged{Set: set})
	}
	for _, name := range sortedKeys(a.ArtifactDelta) {
		add(step, &event.ArtifactSaved{Name: name, Version: a.ArtifactDelta[name]})
	}
	if a.Transfer != "" {
		add(step, &event.Transferred{From: e.Author, To: a.Transfer})
	}
	if a.Escalate {
		add(step, &event.Escalated{})
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func (r *adkReader) partial(e *adkEvent, add func(string, event.Body)) error {
	for i, p := range e.Content.Parts {
		switch {
		case p.Call != nil:
			add("model", &event.ToolInputDelta{
				Call: p.Call.ID, Tool: p.Call.Name, JSON: string(compactJSON(p.Call.Args)), Block: i,
			})
		case p.Thought:
			add("model", &event.ThinkingDelta{Text: p.Text, Block: i})
		case p.Text != "":
			add("model", &event.TextDelta{Text: p.Text, Block: i})
		default:
			return fmt.Errorf("a partial part of no known kind: %s", showJSON(p))
		}
	}
	return nil
}

// user reads what a person said, or answered.
func (r *adkReader) user(e *adkEvent, add func(string, event.Body)) error {
	blocks, err := r.blocks(e.Content.Parts)
	if err != nil {
		return err
	}
	var said []event.Block
	for _, b := range blocks {
		res, ok := b.(*event.ToolResult)
		if !ok {
			said = append(said, b)
			continue
		}
		value := res.Structured
		if r.asked[res.Call] == event.AskApproval {
			var c adkConfirmation
			if err := json.Unmarshal(value, &c); err != nil {
				return err
			}
			value = asJSON(event.Approval{Approved: c.Confirmed, Payload: compactJSON(c.Payload)})
		}
		add("", &event.Answered{Token: res.Call, Value: value, By: event.UserAuthor})
	}
	if said != nil {
		add("", &event.UserMessage{Content: said})
	}
	return nil
}

// agent reads what an agent said, called or got back; step is what actions of
// the same ADK event belong to.
func (r *adkReader) agent(e *adkEvent, add func(string, event.Body)) (step string, err error) {
	for _, p := range e.Content.Parts {
		if p.Call == nil {
			continue
		}
		body, err := r.question(p.Call)
		if err != nil {
			return "", err
		}
		if body != nil {
			add(body.Call, body)
			return body.Call, nil
		}
	}
	blocks, err := r.blocks(e.Content.Parts)
	if err != nil {
		return "", err
	}
	for _, b := range blocks {
		if res, ok := b.(*event.ToolResult); ok {
			step = res.Call
			add(step, &event.StepEnded{
				Step: event.StepTool, Outcome: event.OutcomeDone, Result: res, EndTurn: e.Actions.SkipSummary,
			})
		}
	}
	if step != "" {
		return step, nil
	}
	m := &event.AssistantMessage{Content: blocks, Model: e.Model, LongRunning: e.LongRunning}
	if e.FinishReason != "" {
		m.Stop = oursOf(adkStops, e.FinishReason)
		if m.Stop == event.StopEndTurn && event.CallsOf(blocks) != nil {
			m.Stop = event.StopToolUse
		}
	}
	if u := e.Usage; u != nil {
		m.Usage = event.Usage{
			Input: u.Prompt - u.Cached, CacheRead: u.Cached, Output: u.Candidates + u.Thoughts,
			Reasoning: u.Thoughts, Total: u.Total,
		}
	}
	add("model", m)
	return "model", nil
}

func (r *adkReader) question(c *adkCall) (*event.Asked, error) {
	q := &event.Asked{Token: c.ID}
	switch c.Name {
	case adkConfirm:
		var a adkConfirmArgs
		if err := json.Unmarshal(c.Args, &a); err != nil {
			return nil, err
		}
		q.Ask, q.Prompt, q.Payload = event.AskApproval, a.Tool.Hint, compactJSON(a.Tool.Payload)
		q.Call, q.Tool, q.Args = a.Original.ID, a.Original.Name, compactJSON(a.Original.Args)
	case adkCredential:
		var a adkCredentialArgs
		if err := json.Unmarshal(c.Args, &a); err != nil {
			return nil, err
		}
		q.Ask, q.Call, q.Tool, q.Payload = event.AskCredential, a.Call, r.names[a.Call], compactJSON(a.Config)
	case adkInput:
		var a adkInputArgs
		if err := json.Unmarshal(c.Args, &a); err != nil {
			return nil, err
		}
		q.Ask, q.Name, q.Prompt = event.AskInput, a.Interrupt, a.Message
		q.Schema, q.Payload = compactJSON(a.Schema), compactJSON(a.Payload)
	default:
		return nil, nil
	}
	r.asked[q.Token] = q.Ask
	return q, nil
}

func (r *adkReader) blocks(parts []adkPart) ([]event.Block, error) {
	var blocks []event.Block
	for _, p := range parts {
		b, err := r.block(p)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

func (r *adkReader) block(p adkPart) (event.Block, error) {
	switch {
	case p.Call != nil:
		c := &event.ToolCall{ID: p.Call.ID, Name: p.Call.Name, Args: compactJSON(p.Call.Args), Signature: p.Signature}
		if c.ID == "" { // an older event: a call needs an id for its result to find it
			r.made++
			c.ID = fmt.Sprintf("adk-%d", r.made)
		}
		r.names[c.ID] = c.Name
		return c, nil
	case p.Response != nil:
		res := &event.ToolResult{Call: p.Response.ID, Name: p.Response.Name, Structured: compactJSON(p.Response.Response)}
		if res.Call == "" {
			res.Call = fmt.Sprintf("adk-%d", max(r.made, 1))
		}
		var failed struct {
			Error json.RawMessage `json:"error"`
		}
		res.IsError = json.Unmarshal(res.Structured, &failed) == nil && failed.Error != nil
		return res, nil
	case p.Thought:
		return &event.Thinking{Text: p.Text, Signature: p.Signature}, nil
	case p.Inline != nil && strings.HasPrefix(p.Inline.MIME, "image/"):
		return &event.Image{MIME: p.Inline.MIME, Data: p.Inline.Data}, nil
	case p.Inline != nil:
		return &event.Document{Name: p.Inline.Name, MIME: p.Inline.MIME, Data: p.Inline.Data}, nil
	case p.File != nil:
		kind, _, _ := strings.Cut(p.File.MIME, "/")
		switch kind {
		case "audio", "video":
			return &event.Media{Media: kind, MIME: p.File.MIME, URL: p.File.URI}, nil
		case "image":
			return &event.Image{MIME: p.File.MIME, URL: p.File.URI}, nil
		}
		return &event.Document{MIME: p.File.MIME, URL: p.File.URI}, nil
	case p.Code != nil:
		return &event.Code{Language: strings.ToLower(p.Code.Language), Code: p.Code.Code}, nil
	case p.CodeResult != nil:
		return &event.CodeResult{Outcome: adkOutcomes[p.CodeResult.Outcome], Output: p.CodeResult.Output}, nil
	case p.Text != "":
		return &event.Text{Text: p.Text, Signature: p.Signature}, nil
	}
	return nil, fmt.Errorf("a part of no known kind: %s", showJSON(p))
}

var adkOutcomes = map[string]string{
	"OUTCOME_OK": "ok", "OUTCOME_FAILED": "failed", "OUTCOME_DEADLINE_EXCEEDED": "timeout",
}

// adkWriter writes our events as ADK events. Actions ride on the event that
// carries their step; without one they are an event of their own.
type adkWriter struct {
	out   []*adkEvent
	of    []event.Header
	names map[string]string
	asked map[string]*event.Asked
}

func writeADK(events []event.Event) ([]string, error) {
	w := &adkWriter{names: map[string]string{}, asked: map[string]*event.Asked{}}
	for _, e := range forClients(events) {
		if err := w.event(&e); err != nil {
			return nil, err
		}
	}
	frames := make([]string, len(w.out))
	for i, e := range w.out {
		frames[i] = asFrame(e)
	}
	return frames, nil
}

func (w *adkWriter) open(e *event.Event) *adkEvent {
	out := &adkEvent{InvocationID: e.Run, Author: e.Author, Branch: e.Branch}
	if !e.Time.IsZero() {
		out.Timestamp = float64(e.Time.UnixMicro()) / 1e6
	}
	w.out, w.of = append(w.out, out), append(w.of, e.Header)
	return out
}

// actions gives the event that e's actions ride on.
func (w *adkWriter) actions(e *event.Event) *adkActions {
	if n := len(w.of); n > 0 && w.of[n-1] == e.Header {
		return &w.out[n-1].Actions
	}
	return &w.open(e).Actions
}

func (w *adkWriter) event(e *event.Event) error {
	switch b := e.Body.(type) {
	case *event.UserMessage:
		return w.content(w.open(e), "user", b.Content)
	case *event.TextDelta:
		w.partial(e, adkPart{Text: b.Text})
	case *event.ThinkingDelta:
		w.partial(e, adkPart{Text: b.Text, Thought: true})
	case *event.ToolInputDelta:
		w.partial(e, adkPart{Call: &adkCall{ID: b.Call, Name: b.Tool, Args: json.RawMessage(b.JSON)}})
	case *event.AssistantMessage:
		return w.message(e, b)
	case *event.StepEnded:
		if b.Result == nil {
			return nil
		}
		out := w.open(e)
		out.Actions.SkipSummary = b.EndTurn
		return w.content(out, "user", []event.Block{b.Result})
	case *event.StateChanged:
		w.actions(e).StateDelta = b.Set
	case *event.ArtifactSaved:
		a := w.actions(e)
		if a.ArtifactDelta == nil {
			a.ArtifactDelta = map[string]int{}
		}
		a.ArtifactDelta[b.Name] = b.Version
	case *event.Transferred:
		w.actions(e).Transfer = b.To
	case *event.Escalated:
		w.actions(e).Escalate = true
	case *event.Fault:
		w.fault(w.open(e), b.Err)
	case *event.RunEnded:
		if b.Err != nil {
			w.fault(w.open(e), b.Err)
		}
	case *event.Asked:
		return w.question(w.open(e), b)
	case *event.Answered:
		return w.answer(w.open(e), b)
	}
	return nil
}

func (w *adkWriter) fault(out *adkEvent, err *event.Error) {
	out.ErrorCode, out.ErrorMessage = err.Code, err.Message
	if out.ErrorCode == "" {
		out.ErrorCode = err.Kind.Info().ADK
	}
}

func (w *adkWriter) partial(e *event.Event, p adkPart) {
	out := w.open(e)
	out.Partial, out.Content = true, &adkText{Role: "model", Parts: []adkPart{p}}
}

func (w *adkWriter) message(e *event.Event, b *event.AssistantMessage) error {
	out := w.open(e)
	out.LongRunning, out.Model = b.LongRunning, b.Model
	out.TurnComplete = b.LongRunning == nil && e.Final()
	if b.Stop != "" {
		out.FinishReason = theirsOf(adkStops, b.Stop)
		if b.Stop == event.StopToolUse {
			out.FinishReason = "STOP"
		}
	}
	if u := b.Usage; u != (event.Usage{}) {
		out.Usage = &adkUsage{
			Prompt: u.Input + u.CacheRead, Cached: u.CacheRead, Candidates: u.Output - u.Reasoning,
			Thoughts: u.Reasoning, Total: u.Total,
		}
	}
	return w.content(out, "model", b.Content)
}

func (w *adkWriter) content(out *adkEvent, role string, blocks []event.Block) error {
	out.Content = &adkText{Role: role, Parts: []adkPart{}}
	for _, b := range blocks {
		p, err := w.part(b)
		if err != nil {
			return err
		}
		out.Content.Parts = append(out.Content.Parts, p)
	}
	return nil
}

func (w *adkWriter) part(b event.Block) (adkPart, error) {
	switch b := b.(type) {
	case *event.Text:
		return adkPart{Text: b.Text, Signature: b.Signature}, nil
	case *event.Thinking:
		return adkPart{Text: b.Text, Thought: true, Signature: b.Signature}, nil
	case *event.ToolCall:
		w.names[b.ID] = b.Name
		return adkPart{Call: &adkCall{b.ID, b.Name, b.Args}, Signature: b.Signature}, nil
	case *event.ToolResult:
		response := b.Structured
		if response == nil {
			key := "result"
			if b.IsError {
				key = "error"
			}
			response = asJSON(map[string]string{key: event.TextOf(b.Content)})
		}
		return adkPart{Response: &adkResponse{b.Call, b.Name, response}}, nil
	case *event.Image:
		if b.URL != "" {
			return adkPart{File: &adkFile{b.MIME, b.URL}}, nil
		}
		return adkPart{Inline: &adkBlob{MIME: b.MIME, Data: b.Data}}, nil
	case *event.Document:
		if b.URL != "" {
			return adkPart{File: &adkFile{b.MIME, b.URL}}, nil
		}
		return adkPart{Inline: &adkBlob{b.MIME, b.Data, b.Name}}, nil
	case *event.Media:
		return adkPart{File: &adkFile{b.MIME, b.URL}}, nil
	case *event.Code:
		return adkPart{Code: &adkCode{strings.ToUpper(b.Language), b.Code}}, nil
	case *event.CodeResult:
		for theirs, ours := range adkOutcomes {
			if ours == b.Outcome {
				return adkPart{CodeResult: &adkCodeDone{theirs, b.Output}}, nil
			}
		}
	}
	return adkPart{}, fmt.Errorf("ADK has no part for %s", b.BlockKind())
}

func (w *adkWriter) question(out *adkEvent, q *event.Asked) error {
	w.asked[q.Token] = q
	call := &adkCall{ID: q.Token}
	switch q.Ask {
	case event.AskApproval:
		a := adkConfirmArgs{Original: adkCall{q.Call, q.Tool, q.Args}}
		a.Tool.Hint, a.Tool.Payload = q.Prompt, q.Payload
		call.Name, call.Args = adkConfirm, asJSON(a)
	case event.AskCredential:
		call.Name, call.Args = adkCredential, asJSON(adkCredentialArgs{q.Call, q.Payload})
	case event.AskInput:
		call.Name, call.Args = adkInput, asJSON(adkInputArgs{q.Name, q.Prompt, q.Schema, q.Payload})
	default:
		return fmt.Errorf("ADK announces %s on the call itself", q.Ask)
	}
	w.names[q.Token] = call.Name
	out.LongRunning = []string{q.Token}
	out.Content = &adkText{Role: "model", Parts: []adkPart{{Call: call}}}
	return nil
}

func (w *adkWriter) answer(out *adkEvent, a *event.Answered) error {
	response := a.Value
	if q := w.asked[a.Token]; q != nil && q.Ask == event.AskApproval {
		var approval event.Approval
		if err := json.Unmarshal(a.Value, &approval); err != nil {
			return err
		}
		response = asJSON(adkConfirmation{approval.Approved, approval.Payload})
	}
	out.Content = &adkText{Role: "user", Parts: []adkPart{
		{Response: &adkResponse{a.Token, w.names[a.Token], response}},
	}}
	return nil
}

// adkFinal is is_final_response as ADK's source has it (anchor ADK 1.3), on
// the foreign form: the oracle for Event.Final.
func adkFinal(frame string) (bool, error) {
	var v any
	if err := json.Unmarshal([]byte(withoutComments(frame)), &v); err != nil {
		return false, err
	}
	var e adkEvent
	if err := json.Unmarshal(asJSON(camelKeys(v)), &e); err != nil {
		return false, err
	}
	if e.Actions.SkipSummary || len(e.LongRunning) > 0 {
		return true, nil
	}
	if e.Content == nil {
		return !e.Partial, nil
	}
	for _, p := range e.Content.Parts {
		if p.Call != nil || p.Response != nil {
			return false, nil
		}
	}
	if n := len(e.Content.Parts); n > 0 && e.Content.Parts[n-1].CodeResult != nil {
		return false, nil
	}
	return !e.Partial, nil
}
