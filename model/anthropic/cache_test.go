package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

func bedrockModel(tb testing.TB, name string, opts ...Option) *Model {
	tb.Helper()
	m, err := NewBedrock(name, aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}}, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// cachedUpTo is a request as the cache compares it, up to its last cache point, and
// how many points it has. The automatic one stands behind the messages.
func cachedUpTo(body []byte, auto bool) (prefix []byte, points int) {
	const begin = `,"cache_control":{"type":"ephemeral"`
	last := 0
	for {
		i := bytes.Index(body, []byte(begin))
		if i < 0 {
			break
		}
		points++
		prefix = append(prefix, body[:i]...)
		last = len(prefix)
		body = body[i+bytes.IndexByte(body[i+len(begin):], '}')+len(begin)+1:]
	}
	prefix = append(prefix, body...)
	if auto {
		return prefix[:bytes.LastIndex(prefix, []byte(`]}],`))], points
	}
	return prefix[:last], points
}

// Over 20 turns with tools, the next request begins with the bytes of the one
// before, up to its last cache point, with four points at most. Compaction moves
// them once: the request behind it begins anew, but for tools and instructions,
// and the ones after that go on from there.
func TestCompactionMovesThePointsOnce(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*Model{
		"auto": made(t), "explicit": made(t, Cache(CacheExplicit)), "for an hour": made(t, CacheHour()),
		"Bedrock": bedrockModel(t, BedrockDefault), "Bedrock for an hour": bedrockModel(t, BedrockDefault, CacheHour()),
	} {
		req := &model.Request{Instructions: "Be brief.", Tools: add, Messages: []event.Message{question("Go.")}}
		var before []byte
		moved := 0
		for n := range 40 {
			if n == 20 { // what is old becomes a summary
				req.Messages = append([]event.Message{question("Summary.")}, req.Messages[len(req.Messages)-4:]...)
			}
			prefix, points := cachedUpTo(ask(t, m, req), m.cache == CacheAuto)
			if points < 2 || points > 4 {
				t.Fatalf("%s, turn %d: %d cache points", name, n, points)
			}
			if before != nil && !bytes.HasPrefix(prefix, before) {
				moved++
				head, _, _ := bytes.Cut(before, []byte(`"messages"`))
				if n != 20 || !bytes.HasPrefix(prefix, head) {
					t.Fatalf("%s, turn %d does not begin as the one before:\n%s\n%s", name, n, before, prefix)
				}
			}
			before = bytes.Clone(prefix)
			req.Messages = append(req.Messages, turn(fmt.Sprint("t", n), 1+n%3)...)
		}
		if moved != 1 {
			t.Errorf("%s: the points moved %d times", name, moved)
		}
	}
}

// All points of a request are of one time, because the API wants the longer first.
func TestPointsForAnHour(t *testing.T) {
	t.Parallel()
	req := &model.Request{Instructions: "Be brief.", Tools: add, Messages: append([]event.Message{question("Go.")}, turn("t", 30)...)}
	for name, m := range map[string]*Model{"the API": made(t, CacheHour()), "Bedrock": bedrockModel(t, BedrockDefault, CacheHour())} {
		body := string(ask(t, m, req))
		all, hour := strings.Count(body, `"cache_control"`), strings.Count(body, `"cache_control":{"type":"ephemeral","ttl":"1h"}`)
		if all < 3 || all != hour {
			t.Errorf("%s: %d of %d points are for an hour: %s", name, hour, all, body)
		}
	}
}

// What is written to stay for an hour is counted apart, and is part of what is
// written.
func TestUsageOfTheCache(t *testing.T) {
	t.Parallel()
	const end = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}` + "\n\n" +
		`data: {"type":"message_stop"}` + "\n\n"
	for start, want := range map[string]event.Usage{
		`{"input_tokens":3,"cache_creation_input_tokens":100,"cache_read_input_tokens":7,"output_tokens":1,` +
			`"cache_creation":{"ephemeral_5m_input_tokens":40,"ephemeral_1h_input_tokens":60}}`: {
			Input: 3, Output: 9, Total: 119, CacheRead: 7, CacheWrite: 100, CacheWriteHour: 60,
		},
		`{"input_tokens":3,"cache_creation_input_tokens":100,"output_tokens":1,"cache_creation":null}`: {Input: 3, Output: 9, Total: 112, CacheWrite: 100},
	} {
		body := `data: {"type":"message_start","message":{"usage":` + start + `}}` + "\n\n" + end
		got, err := decode(newLines(strings.NewReader(body)))
		if err != nil || got.Usage != want {
			t.Errorf("%+v, %v, want %+v", got.Usage, err, want)
		}
		if got, err := decode(newFrames(strings.NewReader(framed(body)))); err != nil || got.Usage != want {
			t.Errorf("Bedrock: %+v, %v, want %+v", got.Usage, err, want)
		}
	}
}

// Thinking goes back to whoever can read it. That of others is left out, and a model
// with a budget does not begin to think in the middle of their turn.
func TestThinkingOfOthersIsLeftOut(t *testing.T) {
	t.Parallel()
	const own = "EqQBCgIYAhgCIkDfb3JlaWduIHNpZ25hdHVyZQ+/=="
	for signature, goes := range map[string]bool{
		own: true, "": false, "openai.rs_7.gAAAA": false, "gemini.CikB": false, "bedrock.Zm9v": false,
	} {
		messages := append([]event.Message{question("Go.")}, turn("t", 1)...)
		messages[1].Content = append([]event.Block{
			&event.Thinking{Text: "Private.", Signature: signature}, &event.RedactedThinking{Data: signature},
		}, messages[1].Content...)
		for name, m := range map[string]*Model{"the API": made(t), "Bedrock": bedrockModel(t, BedrockDefault)} {
			m.name = "claude-sonnet-4-5"
			body := string(ask(t, m, &model.Request{Messages: messages, Options: model.Options{Thinking: 2000}}))
			if sent := strings.Contains(body, "Private.") && strings.Contains(body, `"redacted_thinking"`); sent != goes {
				t.Errorf("%s, %q: sent %v: %s", name, signature, sent, body)
			}
			if thinks := strings.Contains(body, `"budget_tokens"`); thinks != goes {
				t.Errorf("%s, %q: thinks %v", name, signature, thinks)
			}
		}
	}
}

// A schema for the answer: which models take it, in which form, and what is said
// beforehand of one that has none.
func TestOutput(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`)
	req := &model.Request{Messages: []event.Message{question("q")}, Output: &model.OutputSchema{Name: "n", Schema: schema}}
	for name, m := range map[string]*Model{"the API": made(t), "Bedrock": bedrockModel(t, BedrockDefault)} {
		if body := string(ask(t, m, req)); !strings.Contains(body, `"output_config":{"format":{"type":"json_schema","schema":{`) ||
			!strings.Contains(body, `"additionalProperties":false`) || strings.Contains(body, `"minimum":`) {
			t.Errorf("%s: %s", name, body)
		}
		if err := m.Check(req); err != nil || !m.Info().Output {
			t.Errorf("%s: %v", name, err)
		}
	}
	old := bedrockModel(t, "anthropic.claude-3-haiku-20240307-v1:0")
	refused := func(name string, m *Model, req *model.Request) {
		t.Helper()
		err := m.Check(req)
		var e *event.Error
		if !isEvent(err, &e) || (e.Kind != event.ErrUnsupported && e.Kind != event.ErrInvalid) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		full := *req
		full.Messages = []event.Message{question("q")}
		if _, err := m.request(&full, false); !isEvent(err, &e) {
			t.Errorf("%s: it is sent: %v", name, err)
		}
	}
	if old.Info().Output {
		t.Error("an old model takes a schema")
	}
	refused("an old model", old, &model.Request{Output: req.Output})
	refused("a recursive schema", made(t), &model.Request{Output: &model.OutputSchema{Schema: json.RawMessage(
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"required":["next"]}}}`)}})
	refused("a tool without an object", made(t), &model.Request{Tools: []model.ToolSpec{{Name: "f", Schema: json.RawMessage(`{"type":"string"}`)}}})
	temperature := 1.0
	refused("a temperature", made(t), &model.Request{Options: model.Options{Temperature: &temperature}})
}

func isEvent(err error, e **event.Error) bool {
	var ok bool
	*e, ok = err.(*event.Error)
	return ok
}
