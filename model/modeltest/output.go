package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// structuredOutput is an answer that the vendor holds to a schema.
func structuredOutput(t *testing.T, p *Provider) {
	if !p.has(StructuredOutput) {
		if m, _ := p.Open(t); m.Info().Output {
			t.Error("Info says that the model takes a schema, and the vendor has none")
		}
	}
	p.shows(t, StructuredOutput)
	const said = `{"city_of_birth":"Kyōto","age":null,"names":[{"first":"A"}]}`
	answer := Answer{Chunks: pieces(model.ChunkText, 0, said[:20], said[20:]), Stop: event.StopEndTurn, Usage: counted}
	m, peer := p.Open(t, answer, answer, answer)
	if !m.Info().Output {
		t.Fatal("Info does not say that the model takes a schema")
	}
	req := request()
	req.Output = &model.OutputSchema{Name: "person", Schema: json.RawMessage(`{"type":"object","properties":{` +
		`"city_of_birth":{"type":"string","description":"Where."},"age":{"type":["integer","null"],"minimum":0},` +
		`"names":{"type":"array","items":{"$ref":"#/$defs/name"}}},"required":["city_of_birth"],` +
		`"$defs":{"name":{"type":"object","properties":{"first":{"type":"string"}}}}}`)}
	withTools := *req
	withTools.Tools = []model.ToolSpec{tool("add")}
	withTools.Messages = Histories()["a call"]
	free := request()
	for i, req := range []*model.Request{req, &withTools, free} {
		if err := check(m, req); err != nil {
			t.Fatalf("request %d: the check refuses it: %v", i, err)
		}
		r := mustAnswer(t, Call(t.Context(), m, req))
		if got := (event.Message{Content: r.Content}).Text(); got != said {
			t.Errorf("request %d: the answer is %s, want %s", i, got, said)
		}
		if sent := bytes.Contains(bodies(t, peer)[i], []byte("city_of_birth")); sent != (req.Output != nil) {
			t.Errorf("request %d: the schema is in it: %v", i, sent)
		}
	}
	for _, tc := range keywords {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, _ := p.Open(t, whole)
			req := request()
			req.Output = &model.OutputSchema{Name: "x", Schema: json.RawMessage(tc.schema)}
			// Schemas of answers are held more strictly than those of tools: any may be
			// reported, none may be sent and refused.
			taken(t, m, req, true)
		})
	}
}

// guardrails take input and output out.
func guardrails(t *testing.T, p *Provider) {
	p.shows(t, GuardrailRedaction)
	said := pieces(model.ChunkText, 0, "I cannot ", "say that.")
	in := model.Chunk{Kind: model.ChunkRedactInput, Text: "[taken out]"}
	out := model.Chunk{Kind: model.ChunkRedactOutput, Text: "[taken out]"}
	for name, tc := range map[string]struct {
		chunks  []model.Chunk
		in, out bool
	}{
		"input":  {join(said, []model.Chunk{in}), true, false},
		"output": {join(said, []model.Chunk{out}), false, true},
		"both":   {join(said, []model.Chunk{in, out}), true, true},
		"none":   {said, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := p.Open(t, Answer{Chunks: tc.chunks, Stop: event.StopGuardrail, Usage: counted})
			r := mustAnswer(t, Call(t.Context(), m, request()))
			if r.Stop != event.StopGuardrail || (r.RedactedInput != "") != tc.in || (r.RedactedOutput != "") != tc.out {
				t.Errorf("stop %q, input %q, output %q", r.Stop, r.RedactedInput, r.RedactedOutput)
			}
			if r.Usage != counted {
				t.Errorf("usage %+v", r.Usage)
			}
		})
	}
}

// check asks a model beforehand, where it can be asked.
func check(m model.Model, req *model.Request) error {
	ahead := *req
	ahead.Messages = nil
	for {
		if c, ok := m.(model.Checker); ok {
			return c.Check(&ahead)
		}
		w, ok := m.(interface{ Unwrap() model.Model })
		if !ok {
			return nil
		}
		m = w.Unwrap()
	}
}

// taken asks with a schema: the vendor takes it; or, where it may be reported, the
// check says what to do, and nothing is sent.
func taken(t *testing.T, m model.Model, req *model.Request, mayReport bool) {
	t.Helper()
	told := check(m, req)
	r := Call(t.Context(), m, req)
	if told == nil {
		mustAnswer(t, r)
		return
	}
	var e *event.Error
	switch {
	case !mayReport:
		t.Errorf("the vendor can take it, and it is refused: %v", told)
	case !errors.As(told, &e) || e.Message == "" || e.Hint == "" || (e.Kind != event.ErrUnsupported && e.Kind != event.ErrInvalid):
		t.Errorf("the check says too little: %v", told)
	default:
		mustFail(t, r, e.Kind)
	}
}
