package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/demo"
)

// tool is a fake tool: its schema and its result.
type tool struct {
	model.ToolSpec
	call func(args json.RawMessage) (string, error)
}

func spec(name, schema string) model.ToolSpec {
	return model.ToolSpec{Name: name, Description: "Test tool.", Schema: json.RawMessage(schema)}
}

const twoNumbers = `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`

// whole collects one answer.
func whole(t *testing.T, m model.Model, req *model.Request) (msg event.Message, usage event.Usage, stop event.StopReason) {
	t.Helper()
	msg, usage, stop, err := collect(context.Background(), m, req)
	if err != nil {
		t.Fatalf("stream: %v", err)
	}
	return msg, usage, stop
}

var errNoStop = errors.New("the stream ended without a terminal signal")

func collect(ctx context.Context, m model.Model, req *model.Request) (msg event.Message, usage event.Usage, stop event.StopReason, err error) {
	msg.Role = event.RoleAssistant
	place := map[int]int{}
	args := map[int]*strings.Builder{}
	err = errNoStop
	at := func(c model.Chunk, fresh func() event.Block) event.Block {
		i, ok := place[c.Index]
		if !ok {
			i = len(msg.Content)
			place[c.Index] = i
			msg.Content = append(msg.Content, fresh())
		}
		return msg.Content[i]
	}
	for c, e := range m.Stream(ctx, req) {
		if e != nil {
			err = e
			break
		}
		switch c.Kind {
		case model.ChunkText:
			at(c, func() event.Block { return &event.Text{} }).(*event.Text).Text += c.Text
		case model.ChunkThinking:
			at(c, func() event.Block { return &event.Thinking{} }).(*event.Thinking).Text += c.Text
		case model.ChunkCall:
			at(c, func() event.Block { return &event.ToolCall{ID: c.ID, Name: c.Text} })
			args[c.Index] = &strings.Builder{}
		case model.ChunkCallInput:
			args[c.Index].WriteString(c.Text)
		case model.ChunkBlock:
			at(c, func() event.Block { return c.Block })
		case model.ChunkUsage:
			usage = *c.Usage
		case model.ChunkStop:
			stop, err = c.Stop, nil
		default:
			err = errors.New("an unexpected piece")
		}
	}
	for i, b := range args {
		msg.Content[place[i]].(*event.ToolCall).Args = json.RawMessage(b.String())
	}
	return msg, usage, stop, err
}

// converse drives m with tools until it ends its turn, and returns the messages as one line each:
// "think …", "say …", "call name args", "got …", "err …".
func converse(t *testing.T, m model.Model, tools []tool, history []event.Message, said string) (lines []string, messages []event.Message) {
	t.Helper()
	req := &model.Request{Run: "run", Messages: append(history, user(said))}
	for _, tl := range tools {
		req.Tools = append(req.Tools, tl.ToolSpec)
	}
	for cycle := 1; cycle <= 10; cycle++ {
		req.Cycle, req.Attempt = cycle, 1
		msg, _, stop := whole(t, m, req)
		for _, b := range msg.Content {
			switch b := b.(type) {
			case *event.Thinking:
				lines = append(lines, "think "+b.Text)
			case *event.Text:
				lines = append(lines, "say "+b.Text)
			case *event.ToolCall:
				lines = append(lines, "call "+b.Name+" "+string(b.Args))
			}
		}
		req.Messages = append(req.Messages, msg)
		calls := msg.Calls()
		if (len(calls) > 0) != (stop == event.StopToolUse) {
			t.Fatalf("%d calls, but the stop reason is %q", len(calls), stop)
		}
		if len(calls) == 0 {
			return lines, req.Messages
		}
		var results []event.Block
		for _, c := range calls {
			r := &event.ToolResult{Call: c.ID, Name: c.Name}
			text, err := run(tools, c)
			if err != nil {
				r.IsError, text = true, err.Error()
				lines = append(lines, "err "+text)
			} else {
				lines = append(lines, "got "+text)
			}
			r.Content = []event.Block{&event.Text{Text: text}}
			results = append(results, r)
		}
		req.Messages = append(req.Messages, event.Message{Role: event.RoleUser, Content: results})
	}
	t.Fatalf("no end after 10 cycles:\n%s", strings.Join(lines, "\n"))
	return nil, nil
}

func run(tools []tool, c *event.ToolCall) (string, error) {
	for _, tl := range tools {
		if tl.Name == c.Name {
			return tl.call(c.Args)
		}
	}
	return "", errors.New("there is no tool " + c.Name)
}

func user(text string) event.Message {
	return event.Message{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: text}}}
}

func result(call, name, text string, failed bool) event.Message {
	return event.Message{Role: event.RoleUser, Content: []event.Block{
		&event.ToolResult{Call: call, Name: name, Content: []event.Block{&event.Text{Text: text}}, IsError: failed},
	}}
}

// adder is a simple tool for +.
func adder(name, schema string, f func(a, b float64) float64) tool {
	return tool{spec(name, schema), func(args json.RawMessage) (string, error) {
		var in map[string]float64
		if err := json.Unmarshal(args, &in); err != nil {
			return "", err
		}
		for _, names := range [][2]string{{"a", "b"}, {"x", "y"}, {"first", "second"}} {
			if _, ok := in[names[0]]; ok {
				return strconv.FormatFloat(f(in[names[0]], in[names[1]]), 'f', -1, 64), nil
			}
		}
		return "", errors.New("no numbers")
	}}
}

func fixed(name, schema, gives string) tool {
	return tool{spec(name, schema), func(json.RawMessage) (string, error) { return gives, nil }}
}

func load(t *testing.T, name string, opts ...demo.Option) *demo.Model {
	t.Helper()
	m, err := demo.Load(name, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func script(t *testing.T, s demo.Script, opts ...demo.Option) *demo.Model {
	t.Helper()
	m, err := demo.New(s, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
