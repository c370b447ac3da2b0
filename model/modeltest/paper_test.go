package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/media"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/modeltest"
	"github.com/braidrun/braid/test/wires"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// defectVariable makes the paper model wrong, in the process that looks for it.
const defectVariable = "BRAID_PAPER_DEFECT"

// paper is the smallest provider: its vendor is the same process, and its wire is
// JSON that nobody sends. It shows what the contract asks for, and, with a defect,
// that the contract finds it.
type paper struct {
	defect string
	gone   chan struct{}

	mu      sync.Mutex
	answers []modeltest.Answer
	bodies  [][]byte
}

func openPaper(_ testing.TB, answers ...modeltest.Answer) (model.Model, modeltest.Peer) {
	p := &paper{defect: os.Getenv(defectVariable), gone: make(chan struct{}, 64), answers: answers}
	return p, p
}

func TestPaper(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Provider{
		Open: openPaper, Loop: wires.Loop, Name: "Paper", Own: "paper.", LargestImage: 1 << 10,
		Stops: []event.StopReason{
			event.StopEndTurn, event.StopToolUse, event.StopSequence, event.StopMaxTokens, event.StopRefusal, event.StopContentFiltered,
			event.StopGuardrail, event.StopPause, event.StopContextOverflow,
		},
		Without:   []modeltest.Feature{modeltest.RedactedThinking},
		Signature: func(given string) string { return "paper." + given },
		Prompt:    func(body []byte) ([]byte, []int) { return body, []int{bytes.Index(body, []byte("system")), len(body)} },
	})
}

// What the contract is there for: each of these models is found out, by the part
// that is named beside its defect.
func TestDefectsAreFound(t *testing.T) {
	t.Parallel()
	if os.Getenv(defectVariable) != "" {
		t.Skip("it looks for one")
	}
	for defect, part := range map[string]string{
		"joins the pieces":               "answers/text",
		"stops twice":                    "answers/text",
		"loses the arguments":            "answers/parallel_calls",
		"knows no new reason":            "stops/something_new",
		"forgets an hour":                "usage/cache_writes_for_an_hour",
		"forgets late usage":             "usage/after_the_stop",
		"hides the schema":               "structured_output",
		"says nothing of redaction":      "guardrails/output",
		"refuses references":             "tool_schemas/$ref",
		"refuses without a hint":         "tool_schemas/recursion",
		"counts its requests":            "prompt_cache",
		"keeps what others signed":       "histories/Claude's_thinking",
		"loses signatures":               "histories/thinking_goes_back",
		"takes any image":                "histories/an_image_too_large",
		"mistakes names":                 "histories/names_of_tools",
		"believes what is said of files": "histories/files_as_people_send_them",
		"fetches any address":            "histories/files_as_people_send_them",
		"repeats in secret":              "faults/throttled_0s",
		"mistakes the kind":              "faults/overloaded_0s",
		"forgets the time to wait":       "faults/throttled_7s",
		"promises nothing":               "cancel",
		"takes a cut for an end":         "cut_after_each_piece",
		"goes on when it is left":        "breaking_out",
		"changes requests":               "requests_are_only_read",
		"is unavailable, and no more":    "through_the_loop/server_error",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			pattern := "^TestPaper$"
			for piece := range strings.SplitSeq(part, "/") {
				pattern += "/^" + strings.NewReplacer("$", `\$`).Replace(piece) + "$"
			}
			test := exec.CommandContext(t.Context(), os.Args[0], "-test.run", pattern, "-test.timeout", "5m")
			test.Env = append(os.Environ(), defectVariable+"="+defect)
			out, err := test.CombinedOutput()
			if failed := new(exec.ExitError); !errors.As(err, &failed) || !bytes.Contains(out, []byte("--- FAIL: TestPaper/"+part)) {
				t.Errorf("%s does not find it: %v\n%s", part, err, out)
			}
		})
	}
}

func (p *paper) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.bodies)
}

func (p *paper) Bodies() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.bodies)
}

func (p *paper) Left(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-p.gone:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *paper) Info() model.Info { return model.Info{Name: "paper:1", Output: true} }

// Cancellable implements [model.Cancellable].
func (p *paper) Cancellable() model.Model {
	if p.defect == "promises nothing" {
		return nil
	}
	return p
}

func wrong(kind event.ErrorKind, message string) *event.Error {
	return &event.Error{Op: "model paper", Kind: kind, Message: message, Hint: "write it otherwise"}
}

// Check implements [model.Checker]: paper knows no schemas that hold themselves.
func (p *paper) Check(req *model.Request) error {
	list := slices.Clone(req.Tools)
	if req.Output != nil {
		list = append(list, model.ToolSpec{Schema: req.Output.Schema})
	}
	for _, tool := range list {
		if len(tool.Schema) == 0 {
			continue
		}
		var s struct {
			Type any `json:"type"`
		}
		if json.Unmarshal(tool.Schema, &s) != nil || (s.Type != nil && s.Type != "object") {
			return wrong(event.ErrInvalid, "The schema is none of an object.")
		}
		if p.defect == "refuses references" && bytes.Contains(tool.Schema, []byte(`"$ref":"#/$defs/p"`)) {
			return wrong(event.ErrUnsupported, "The schema refers to a part of itself.")
		}
		if bytes.Contains(tool.Schema, []byte(`"$ref":"#/$defs/n"`)) {
			e := wrong(event.ErrUnsupported, "The schema holds itself.")
			if p.defect == "refuses without a hint" {
				e.Hint = ""
			}
			return e
		}
	}
	return nil
}

func (p *paper) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		a, err := p.ask(ctx, req)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		p.answer(ctx, &a, yield)
	}
}

// ask gives the vendor the request and takes its answer.
func (p *paper) ask(ctx context.Context, req *model.Request) (modeltest.Answer, error) {
	if err := p.refuse(ctx, req); err != nil {
		return modeltest.Answer{}, err
	}
	body, err := p.encode(req)
	if err != nil {
		return modeltest.Answer{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.defect == "counts its requests" {
		body = append(strconv.AppendInt(nil, int64(len(p.bodies)), 10), body...)
	}
	p.bodies = append(p.bodies, body)
	if bytes.Contains(body, []byte(`"signature":"`)) && bytes.Count(body, []byte(`"signature":"`)) != bytes.Count(body, []byte(`"signature":"paper.`)) {
		return modeltest.Answer{}, wrong(event.ErrInvalid, "This is not my signature.")
	}
	if len(p.answers) == 0 {
		return modeltest.Answer{}, wrong(event.ErrInternal, "The test has no answer to this.")
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	if p.defect == "repeats in secret" && a.Fault == modeltest.Throttled {
		p.bodies = append(p.bodies, body)
	}
	return a, nil
}

// refuse tells what needs no vendor to be told.
func (p *paper) refuse(ctx context.Context, req *model.Request) error {
	if req == nil || len(req.Messages) == 0 {
		return wrong(event.ErrInvalid, "There is no message.")
	}
	if ctx.Err() != nil {
		return wrong(event.ErrCancelled, "The call was cancelled.")
	}
	if err := p.Check(req); err != nil {
		return err
	}
	switch c := req.ToolChoice; c.Mode {
	case model.ToolsFree, model.ToolsAny, model.ToolsNone:
	case model.ToolsOne:
		if !slices.ContainsFunc(req.Tools, func(s model.ToolSpec) bool { return s.Name == c.Tool }) {
			return wrong(event.ErrInvalid, "There is no such tool.")
		}
	default:
		return wrong(event.ErrUnsupported, "There is no such choice.")
	}
	for _, b := range req.Messages[len(req.Messages)-1].Content {
		switch b := b.(type) {
		case *event.Image:
			if b = media.Image(b); len(b.Data) == 0 && !media.Web(b.URL) && p.defect != "fetches any address" {
				return wrong(event.ErrUnsupported, "Paper goes nowhere but to the web.")
			}
			if b.MIME == "image/tiff" {
				return wrong(event.ErrUnsupported, "Paper shows no TIFF.")
			}
			if len(b.Data) > 1<<10 && p.defect != "takes any image" {
				return wrong(event.ErrTooLarge, "The image does not fit on paper.")
			}
		case *event.Document:
			if b = media.Document(b); len(b.Data) == 0 && b.Text == "" && !media.Web(b.URL) {
				return wrong(event.ErrUnsupported, "Paper goes nowhere but to the web.")
			}
			if b.MIME == "application/zip" {
				return wrong(event.ErrUnsupported, "Paper cannot be unpacked.")
			}
		}
	}
	return nil
}

// encode writes the request as the vendor takes it.
func (p *paper) encode(req *model.Request) ([]byte, error) {
	b := []byte{'{'}
	for _, tool := range req.Tools {
		b = strconv.AppendQuote(append(b, "tool "...), tool.Name)
	}
	if req.Output != nil && p.defect != "hides the schema" {
		b = append(append(b, "output "...), req.Output.Schema...)
	}
	b = strconv.AppendQuote(append(b, "system "...), req.Instructions)
	for i := range req.Messages {
		m := event.Message{Role: req.Messages[i].Role}
		for _, c := range req.Messages[i].Content {
			if c = p.own(c); c != nil {
				m.Content = append(m.Content, c)
			}
		}
		if p.defect == "changes requests" {
			req.Messages[i].Role = "somebody"
		}
		var err error
		if b, err = event.AppendMessage(b, m); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// own is a block without what only another provider could read.
func (p *paper) own(b event.Block) event.Block {
	foreign := func(signature string) bool {
		return !strings.HasPrefix(signature, "paper.") && p.defect != "keeps what others signed"
	}
	switch b := b.(type) {
	case *event.Thinking:
		if foreign(b.Signature) || p.defect == "loses signatures" {
			return nil
		}
	case *event.Text:
		if b.Signature != "" && foreign(b.Signature) {
			return &event.Text{Text: b.Text}
		}
	case *event.ToolCall:
		if b.Signature != "" && foreign(b.Signature) {
			c := *b
			c.Signature = ""
			return &c
		}
	case *event.RedactedThinking:
		return nil
	case *event.Image:
		if p.defect != "believes what is said of files" {
			return media.Image(b)
		}
	case *event.Document:
		return media.Document(b)
	}
	return b
}

// answer yields what the vendor says.
func (p *paper) answer(ctx context.Context, a *modeltest.Answer, yield func(model.Chunk, error) bool) {
	fail := func(kind event.ErrorKind) {
		e := wrong(kind, "It went wrong.")
		if e.RetryAfter = a.RetryAfter; p.defect == "forgets the time to wait" {
			e.RetryAfter = 0
		}
		if kind == event.ErrOverloaded && p.defect == "mistakes the kind" {
			e.Kind = event.ErrModel
		}
		if kind == event.ErrUnavailable && p.defect == "is unavailable, and no more" {
			e.Kind = event.ErrModel
		}
		yield(model.Chunk{}, e)
	}
	kind, broken := modeltest.Faults()[a.Fault]
	late := slices.Contains([]modeltest.Fault{modeltest.Cut, modeltest.NoEnd, modeltest.Stalled, modeltest.Overloads, modeltest.FailsLater}, a.Fault)
	if broken && !late && a.Fault != modeltest.Silent {
		fail(kind)
		return
	}
	if a.Fault != modeltest.Silent && !p.say(a.Chunks, yield) {
		return
	}
	if broken && p.defect == "takes a cut for an end" && kind == event.ErrStreamCut {
		broken = false
	}
	if !broken {
		p.end(a, yield)
		return
	}
	if a.Fault == modeltest.Silent || a.Fault == modeltest.Stalled {
		silence, cancel := context.WithTimeout(ctx, modeltest.Silence)
		defer cancel()
		<-silence.Done()
		p.gone <- struct{}{}
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			kind = event.ErrTimeout
		case ctx.Err() != nil:
			kind = event.ErrCancelled
		}
	}
	fail(kind)
}

// say yields the pieces, and is false where the loop was left.
func (p *paper) say(chunks []model.Chunk, yield func(model.Chunk, error) bool) bool {
	if !yield(model.Chunk{Kind: model.ChunkResponse, ID: "1", Text: "paper-1"}, nil) {
		p.gone <- struct{}{}
		return false
	}
	for i, c := range chunks {
		switch {
		case p.defect == "joins the pieces" && c.Kind == model.ChunkText && i+1 < len(chunks):
			chunks[i+1].Text = c.Text + chunks[i+1].Text
			continue
		case p.defect == "loses the arguments" && c.Kind == model.ChunkCallInput,
			p.defect == "says nothing of redaction" && c.Kind == model.ChunkRedactOutput:
			continue
		case p.defect == "mistakes names" && c.Kind == model.ChunkCall:
			c.Text = strings.ReplaceAll(c.Text, ".", "_")
		case c.Kind == model.ChunkSignature:
			c.Text = "paper." + c.Text
		}
		if !yield(c, nil) {
			if p.defect != "goes on when it is left" {
				p.gone <- struct{}{}
			}
			return false
		}
	}
	return true
}

func (p *paper) end(a *modeltest.Answer, yield func(model.Chunk, error) bool) {
	u, stop := a.Usage, a.Stop
	if p.defect == "forgets an hour" {
		u.CacheWriteHour = 0
	}
	if p.defect == "knows no new reason" && stop == "something_new" {
		stop = event.StopEndTurn
	}
	if !a.LateUsage && !yield(model.Chunk{Kind: model.ChunkUsage, Usage: &u}, nil) {
		return
	}
	if !yield(model.Chunk{Kind: model.ChunkStop, Stop: stop}, nil) {
		return
	}
	if a.LateUsage && p.defect != "forgets late usage" && !yield(model.Chunk{Kind: model.ChunkUsage, Usage: &u}, nil) {
		return
	}
	if p.defect == "stops twice" {
		yield(model.Chunk{Kind: model.ChunkStop, Stop: stop}, nil)
	}
}
