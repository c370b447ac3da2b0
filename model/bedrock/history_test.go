package bedrock

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/reqcache"
)

const (
	claude = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	novaID = "us.amazon.nova-pro-v1:0"
	llama  = "us.meta.llama4-scout-17b-instruct-v1:0"
	titan  = "amazon.titan-text-express-v1"
	point  = `{"cachePoint":{"type":"default"}}`
)

func config() aws.Config {
	return aws.Config{
		Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	}
}

func made(tb testing.TB, name string, opts ...Option) *Model {
	tb.Helper()
	m, err := New(name, config(), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func ask(tb testing.TB, m *Model, req *model.Request) []byte {
	tb.Helper()
	a, err := m.request(req, false)
	body := a.body
	if err != nil {
		tb.Fatal(err)
	}
	if !json.Valid(body) {
		tb.Fatalf("no JSON: %s", body)
	}
	return body
}

func msg(role event.Role, b ...event.Block) event.Message {
	return event.Message{Role: role, Content: b}
}

func question(s string) event.Message { return msg(event.RoleUser, &event.Text{Text: s}) }

// turn returns an answer with n calls, and their results.
func turn(id string, n int) []event.Message {
	a := msg(event.RoleAssistant, &event.Text{Text: "I look."})
	r := msg(event.RoleUser)
	for i := range n {
		c := fmt.Sprintf("%s_%d", id, i)
		a.Content = append(a.Content, &event.ToolCall{ID: c, Name: "add", Args: json.RawMessage(`{"a":1,"b":"two"}`)})
		r.Content = append(r.Content, &event.ToolResult{Call: c, Name: "add", Content: []event.Block{&event.Text{Text: "three"}}})
	}
	return []event.Message{a, r}
}

var add = []model.ToolSpec{{
	Name: "add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`),
}}

// Over 40 turns, each request begins with the bytes of the one before it, up to its last cache
// point. There are at most four points, and all of them stay as long.
func TestCachedBytesStay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		points CachePoints
		point  string
	}{{CacheAuto, point}, {CacheHour, `{"cachePoint":{"type":"default","ttl":"1h"}}`}} {
		staysCached(t, made(t, claude, Cache(c.points)), c.point)
	}
}

func staysCached(t *testing.T, m *Model, point string) {
	t.Helper()
	req := &model.Request{Instructions: "Be brief.", Tools: add, Messages: []event.Message{question("Go.")}}
	var before []byte
	for n := range 40 {
		body := ask(t, m, req)
		points := bytes.Count(body, []byte(point))
		if all := bytes.Count(body, []byte(`{"cachePoint":`)); all != points {
			t.Fatalf("turn %d: %d cache points are of another kind", n, all-points)
		}
		if want := min(n+2, 4); points != want {
			t.Fatalf("turn %d: %d cache points, want %d", n, points, want)
		}
		// The cache compares content without the points.
		last := bytes.LastIndex(body, []byte(","+point))
		seen := bytes.ReplaceAll(body[:last], []byte(","+point), nil)
		if !bytes.HasPrefix(seen, before) {
			t.Fatalf("turn %d: the request does not begin as the one before:\n%s\n%s", n, before, seen)
		}
		// One point is at the last point of the previous request: the cache is read there.
		if n > 0 && !slices.Contains(pointsIn(body, point), len(before)) {
			t.Fatalf("turn %d: nothing of the request before is read: %s", n, body)
		}
		before = seen
		req.Messages = append(req.Messages, turn(fmt.Sprint("t", n), 2)...)
	}
}

// Models that cache less, or automatically, get the same beginning too.
func TestTheBeginningStaysAtEveryFamily(t *testing.T) {
	t.Parallel()
	for _, id := range []string{novaID, "us.amazon.nova-2-lite-v1:0", "qwen.qwen3-235b-a22b-2507-v1:0", "us.meta.llama4-maverick-17b-instruct-v1:0"} {
		m := made(t, id)
		req := &model.Request{Instructions: "Be brief.", Tools: add, Messages: []event.Message{question("Go.")}}
		var before []byte
		for n := range 40 {
			body := bytes.ReplaceAll(bytes.ReplaceAll(ask(t, m, req), []byte(","+point), nil), []byte(point), nil)
			if !bytes.HasPrefix(body, before) {
				t.Fatalf("%s, turn %d: the request does not begin as the one before:\n%s\n%s", id, n, before, body)
			}
			at := bytes.LastIndex(body, []byte(`{"role":"user"`))
			if at < 0 {
				t.Fatalf("%s, turn %d: %s", id, n, body)
			}
			before = bytes.Clone(body[:at])
			req.Messages = append(req.Messages, turn(fmt.Sprint("t", n), 1)...)
		}
	}
}

// pointsIn returns the positions of the points in a body without them.
func pointsIn(body []byte, point string) (at []int) {
	mark := []byte("," + point)
	for n := 0; ; {
		i := bytes.Index(body, mark)
		if i < 0 {
			return at
		}
		n += i
		at = append(at, n)
		body = body[i+len(mark):]
	}
}

func TestWhereCachePointsStand(t *testing.T) {
	t.Parallel()
	csv := &event.Document{Name: "a.csv", MIME: "text/csv", Data: []byte("a")}
	call := &event.ToolCall{ID: "x", Name: "add"}
	done := &event.ToolResult{Call: "x", Content: []event.Block{&event.Text{Text: "3"}}}
	for _, tc := range []struct {
		name, model string
		opts        []Option
		req         model.Request
		want        string // the body, with | for a point and only the texts
	}{
		{"instructions", claude, nil, model.Request{Instructions: "i", Tools: add, Messages: []event.Message{question("q")}}, "tools system | q |"},
		{"tools alone", claude, nil, model.Request{Tools: add, Messages: []event.Message{question("q")}}, "tools | q |"},
		{"for an hour", claude, []Option{Cache(CacheHour)}, model.Request{Instructions: "i", Messages: []event.Message{question("q")}}, "system 1h| q 1h|"},
		{"off", claude, []Option{Cache(CacheOff)}, model.Request{Instructions: "i", Messages: []event.Message{question("q")}}, "system q"},
		{"an old model", "anthropic.claude-3-haiku-20240307-v1:0", nil, model.Request{Instructions: "i", Messages: []event.Message{question("q")}}, "system q"},
		{"another vendor", llama, nil, model.Request{Instructions: "i", Messages: []event.Message{question("q")}}, "system q"},
		{"nova", novaID, nil, model.Request{Instructions: "i", Tools: add, Messages: []event.Message{question("q")}}, "tools system | q |"},
		{"nova with tools alone", novaID, nil, model.Request{Tools: add, Messages: []event.Message{question("q")}}, "tools q |"},
		{
			"nova behind results", novaID, nil,
			model.Request{Tools: add, Messages: []event.Message{question("q"), msg(event.RoleAssistant, call), msg(event.RoleUser, done)}},
			"tools q | call result",
		},
		{
			"behind a document", claude, nil,
			model.Request{Messages: []event.Message{msg(event.RoleUser, &event.Text{Text: "q"}, csv)}},
			"q document",
		},
	} {
		body := string(ask(t, made(t, tc.model, tc.opts...), &tc.req))
		var got []string
		for rest := body; rest != ""; rest = rest[1:] {
			for mark, word := range map[string]string{
				`{"toolConfig":`: "tools", `"system":`: "system", `{"text":"q"}`: "q", `{"toolUse":`: "call", `{"toolResult":`: "result",
				`{"document":`: "document", point: "|", `{"cachePoint":{"type":"default","ttl":"1h"}}`: "1h|",
			} {
				if strings.HasPrefix(rest, mark) {
					got = append(got, word)
				}
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v, want %s\n%s", tc.name, got, tc.want, body)
		}
	}
}

// A model that remembers the conversation sends the same bytes as a new one, whatever changed in
// between.
func TestWarmIsAsCold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{claude, novaID, llama}).Draw(t, "model")
		fresh := func() *Model {
			m, err := New(name, config(), Guard(Guardrail{ID: "g", Version: "1", Latest: true}))
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		warm := fresh()
		id := rapid.SampledFrom([]string{"a", "a_2", "b", "c/d", ""})
		branches := [][]event.Message{{question("Go.")}}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			k := rapid.IntRange(0, len(branches)-1).Draw(t, "branch")
			b := branches[k]
			switch rapid.SampledFrom([]string{"turn", "turn", "say", "file", "steer", "rewind", "fork", "replace"}).Draw(t, "what") {
			case "turn":
				c := id.Draw(t, "id")
				b = append(slices.Clip(b), msg(
					event.RoleAssistant, &event.Thinking{Text: "hm", Signature: "s"}, &event.ToolCall{ID: c, Name: "add", Args: json.RawMessage(`{"a":1}`)},
				), msg(event.RoleUser, &event.ToolResult{Call: c, Content: []event.Block{&event.Text{Text: "r"}}}))
			case "say":
				b = append(slices.Clip(b), msg(event.RoleAssistant, &event.Text{Text: "ok"}), question("more"))
			case "file":
				b = append(slices.Clip(b), msg(event.RoleAssistant, &event.Text{Text: "ok"}),
					msg(event.RoleUser, &event.Document{Name: "a.txt", MIME: "text/plain", Data: []byte("x")}))
			case "steer":
				last := b[len(b)-1]
				b = append(b[:len(b)-1:len(b)-1], msg(last.Role, append(slices.Clip(last.Content), &event.Text{Text: "now"})...))
			case "rewind":
				n := 1 + 2*rapid.IntRange(0, (len(b)-1)/2).Draw(t, "to")
				b = b[:n:n]
			case "fork":
				branches = append(branches, b)
			case "replace": // a compacted conversation has another beginning
				b = append([]event.Message{question("summary")}, b[min(len(b), 3):]...)
				if len(b) > 1 && b[1].Role == event.RoleUser {
					b = b[1:]
				}
			}
			branches[k] = b
			req := &model.Request{Instructions: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "instructions"), Tools: add, Messages: b}
			gotten, err := warm.request(req, false)
			got := gotten.body
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := fresh().request(req, false)
			want := wanted.body
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("warm\n%s\ncold\n%s", got, want)
			}
		}
	})
}

// A turn after 1,000 messages encodes at most a quarter of the whole request.
func TestAWarmTurnIsCheap(t *testing.T) { //nolint:paralleltest // it counts for the whole process
	messages := long()
	fewest := func(m func() *Model) uint64 {
		least := uint64(math.MaxUint64)
		for range 3 {
			one := m()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := one.request(&model.Request{Tools: add, Messages: messages}, false); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		return least
	}
	kept := made(t, claude)
	afresh := fewest(func() *Model { return made(t, claude) })
	warm := fewest(func() *Model {
		// The model has sent all but the last turn before.
		if _, err := kept.request(&model.Request{Tools: add, Messages: messages[:len(messages)-2]}, false); err != nil {
			t.Fatal(err)
		}
		return kept
	})
	if ratio := float64(warm) / float64(afresh); ratio > 0.25 {
		t.Errorf("%d allocations warm, %d afresh: %.2f", warm, afresh, ratio)
	} else {
		t.Logf("%d allocations warm, %d afresh: %.2f", warm, afresh, ratio)
	}
}

// long returns a conversation of 1,000 messages.
func long() []event.Message {
	messages := []event.Message{question("Go.")}
	for i := range 500 {
		messages = append(messages, turn(fmt.Sprint("t", i), 1)...)
	}
	return messages
}

// An encoder can go back to an earlier position.
func TestCut(t *testing.T) {
	t.Parallel()
	f := familyOf(claude)
	e := encoder{family: &f}
	file := func() event.Block { return &event.Document{Name: "a.txt", MIME: "text/plain", Data: []byte("x")} }
	var marks []reqcache.Mark
	var states []string
	for range 4 {
		marks, states = append(marks, e.Mark()), append(states, string(e.dst))
		m := msg(event.RoleUser, file(), file())
		e.Encode(&m)
	}
	for i := len(marks) - 1; i >= 0; i-- {
		e.Cut(marks[i])
		if string(e.dst) != states[i] || len(e.said) != i || len(e.names) != 2*i {
			t.Errorf("cut to %d: %d messages, %d names", i, len(e.said), len(e.names))
		}
	}
}
