package guardrail_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/guardrail"
	"github.com/braidrun/braid/secret"
)

// cards is a rule that replaces card numbers.
var cards = guardrail.Rule{Name: "cards", Check: func(_ context.Context, text string) (string, error) {
	return strings.ReplaceAll(text, "4711", "[card]"), nil
}}

// quiet is a rule that leaves nothing of a text with the word.
var quiet = guardrail.Rule{Name: "quiet", Check: func(_ context.Context, text string) (string, error) {
	if strings.Contains(text, "4711") {
		return "", nil
	}
	return text, nil
}}

var errBroken = errors.New("it is broken")

// broken is a rule whose check fails.
var broken = guardrail.Rule{Name: "broken", Check: func(context.Context, string) (string, error) { return "", errBroken }}

const token = "ghp_Q7n2vTz9LmX4wK8"

// mask is the rule that hides the token.
func mask() guardrail.Rule {
	return guardrail.Rule{Name: "secrets", Mask: secret.NewMask(secret.New(token))}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule     guardrail.Rule
		in, want event.Block // want is nil for a block that is dropped
	}{
		"a text":                {cards, &event.Text{Text: "it is 4711", Signature: "s"}, &event.Text{Text: "it is [card]", Signature: "s"}},
		"a text without a rest": {quiet, &event.Text{Text: "4711"}, &event.Text{Text: guardrail.Redacted}},
		"thinking":              {cards, &event.Thinking{Text: "4711"}, nil},
		"a signature":           {mask(), &event.Thinking{Text: "fine", Signature: token}, nil},
		"a call": {
			cards, &event.ToolCall{ID: "4711", Name: "pay", Args: json.RawMessage(`{"card":4711,"to":["a"]}`)},
			&event.ToolCall{ID: "4711", Name: "pay", Args: json.RawMessage(`{"card":"[card]","to":["a"]}`)},
		},
		"a call that is no JSON": {cards, &event.ToolCall{Name: "pay", Invalid: "4711"}, &event.ToolCall{Name: "pay", Invalid: "[card]"}},
		"a call's id":            {mask(), &event.ToolCall{ID: token, Name: "pay"}, &event.ToolCall{ID: secret.Redacted, Name: "pay"}},
		"an address":             {cards, &event.Image{URL: "https://x/4711"}, &event.Image{URL: "https://x/[card]"}},
		"a data address":         {cards, &event.Image{URL: "data:4711"}, &event.Image{URL: "data:4711"}},
		"a recording":            {cards, &event.Media{Media: "audio", URL: "https://x/4711"}, &event.Media{Media: "audio", URL: "https://x/[card]"}},
		"a document":             {cards, &event.Document{Name: "4711", Text: "4711"}, &event.Document{Name: "[card]", Text: "[card]", Data: []byte{}}},
		"a citation":             {cards, &event.Citation{Quote: "4711"}, &event.Citation{Quote: "[card]"}},
		"code":                   {cards, &event.Code{Language: "go", Code: "4711"}, &event.Code{Language: "go", Code: "[card]"}},
		"what code printed":      {cards, &event.CodeResult{Output: "4711"}, &event.CodeResult{Output: "[card]"}},
		"an unknown block": {
			cards, &event.UnknownBlock{Name: "odd", Raw: json.RawMessage(`{"kind":"odd","a":"4711"}`)}, &event.UnknownBlock{Name: "odd", Raw: json.RawMessage(`{"a":"[card]","kind":"odd"}`)},
		},
		"a result": {
			cards, &event.ToolResult{Content: []event.Block{&event.Text{Text: `["\u0034711"]`}}, Structured: json.RawMessage(`["\u0034711"]`)},
			&event.ToolResult{Content: []event.Block{&event.Text{Text: `["[card]"]`}}, Structured: json.RawMessage(`["[card]"]`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, err := event.AppendBlock(nil, c.in)
			if err != nil {
				t.Fatal(err)
			}
			got := guardrail.New(t.Context(), []guardrail.Rule{c.rule}).Blocks([]event.Block{c.in})
			var want []event.Block
			if c.want != nil {
				want = []event.Block{c.want}
			}
			if diff := cmp.Diff(want, got, cmp.Transformer("none", func(b []byte) string { return string(b) })); diff != "" && len(want)+len(got) > 0 {
				t.Error(diff)
			}
			if after, err := event.AppendBlock(nil, c.in); err != nil || string(after) != string(before) {
				t.Errorf("the given block has changed: %s: %v", after, err)
			}
		})
	}
}

// What no rule changes is the very thing that was given.
func TestNothingIsCopiedWithoutNeed(t *testing.T) {
	t.Parallel()
	f := guardrail.New(t.Context(), []guardrail.Rule{mask(), cards})
	raw := json.RawMessage(`{ "b": 1,  "a": 2 }`)
	in := []event.Block{&event.Text{Text: "fine"}, &event.ToolCall{ID: "1", Name: "pay", Args: raw}}
	if out := f.Blocks(in); !slices.Equal(out, in) {
		t.Errorf("the blocks are others: %v", out)
	}
	r := &event.ToolResult{Content: in, Structured: raw}
	if f.Result(r) != r || string(f.JSON(raw)) != string(raw) || f.Error(errBroken) != errBroken {
		t.Error("a result, JSON or an error is another one")
	}
	if len(f.By()) != 0 || f.Err() != nil {
		t.Errorf("it has found %v, %v", f.By(), f.Err())
	}
}

// Each rule sees what the one before it has left, and is named once. A mask is not named.
func TestRulesFollowEachOther(t *testing.T) {
	t.Parallel()
	seen := guardrail.Rule{Name: "seen", Check: func(_ context.Context, text string) (string, error) {
		if strings.Contains(text, "4711") || strings.Contains(text, token) {
			t.Errorf("the last rule sees %q", text)
		}
		return text + "\xff", nil
	}}
	f := guardrail.New(t.Context(), []guardrail.Rule{mask(), cards, seen})
	for range 2 {
		if got := f.Text("4711 " + token); got != "[card] "+secret.Redacted+"\uFFFD" {
			t.Errorf("it leaves %q", got)
		}
	}
	if !slices.Equal(f.By(), []string{"cards", "seen"}) {
		t.Errorf("it names %v", f.By())
	}
}

// A check that fails is the end: later rules are not asked, and the error says which one it was.
func TestACheckThatFails(t *testing.T) {
	t.Parallel()
	f := guardrail.New(t.Context(), []guardrail.Rule{broken, cards})
	f.Blocks([]event.Block{&event.Text{Text: "4711"}, &event.Text{Text: "4711"}})
	e, ok := errors.AsType[*event.Error](f.Err())
	if !ok || e.Op != "guardrail broken" || e.Kind != event.ErrInternal || !errors.Is(e, errBroken) || len(f.By()) != 0 {
		t.Errorf("the error is %v, by %v", f.Err(), f.By())
	}
	cancelled := guardrail.Rule{Name: "x", Check: func(context.Context, string) (string, error) { return "", context.Canceled }}
	f = guardrail.New(t.Context(), []guardrail.Rule{cancelled})
	if f.Text("a"); event.KindOf(f.Err()) != event.ErrCancelled {
		t.Errorf("the error is %v", f.Err())
	}
}

// An error that a rule has changed keeps its kind, and of its cause no more than that.
func TestErrors(t *testing.T) {
	t.Parallel()
	f := guardrail.New(t.Context(), []guardrail.Rule{cards})
	cause := &event.Error{Kind: event.ErrThrottled, Message: "4711 has too many"}
	got := f.Error(&event.Error{Op: "model m", Kind: event.ErrModel, Message: "it failed", Hint: "4711", Err: cause})
	e, ok := errors.AsType[*event.Error](got)
	if !ok || e.Kind != event.ErrModel || e.Hint != "[card]" || e.Err == nil || strings.Contains(e.Err.Error(), "4711") ||
		event.KindOf(e.Err) != event.ErrThrottled {
		t.Errorf("it is %v, because of %v", got, e.Err)
	}
	if got := f.Error(errors.New("4711")); got.Error() != "[card]" {
		t.Errorf("it is %v", got)
	}
	masked := guardrail.New(t.Context(), []guardrail.Rule{mask()}).Error(&event.Error{Kind: event.ErrModel, Message: "no", Err: errors.New("for " + token)})
	if e, ok := errors.AsType[*event.Error](masked); !ok || e.Err == nil || e.Err.Error() != "for "+secret.Redacted {
		t.Errorf("a secret is hidden in the cause, and the rest stays: %v", masked)
	}
}

// A secret that begins in one block and ends in the next is found.
func TestASecretAcrossBlocks(t *testing.T) {
	t.Parallel()
	in := []event.Block{&event.Text{Text: "it is " + token[:9]}, &event.Text{Text: token[9:] + " indeed"}}
	out := event.RawText(guardrail.New(t.Context(), []guardrail.Rule{mask()}).Blocks(in))
	if strings.Contains(out, token[:9]) || strings.Contains(out, token[9:]) || event.RawText(in) != "it is "+token+" indeed" {
		t.Errorf("it leaves %q of %q", out, event.RawText(in))
	}
}

func TestWithholdDeltas(t *testing.T) {
	t.Parallel()
	var sent []event.Kind
	send := guardrail.WithholdDeltas(func(b event.Body) bool { sent = append(sent, b.Kind()); return false })
	for _, b := range []event.Body{&event.TextDelta{}, &event.ThinkingDelta{}, &event.ToolInputDelta{}, &event.AnswerReplaced{}} {
		if !send(b) {
			t.Errorf("%s ends the stream", b.Kind())
		}
	}
	if send(&event.ToolProgress{}) || len(sent) != 1 {
		t.Errorf("it sends %v", sent)
	}
}

// The live pieces of an answer never show a secret, however it is cut, and show everything else in order.
func TestMaskDeltas(t *testing.T) {
	t.Parallel()
	for size := 1; size < len(token)+8; size++ {
		shown := ""
		deltas := guardrail.MaskDeltas(secret.NewMask(secret.New(token)), func(b event.Body) bool {
			if d, ok := b.(*event.TextDelta); ok {
				shown += d.Text
			}
			return true
		})
		text := "it is " + token + " indeed"
		for len(text) > 0 {
			n := min(size, len(text))
			deltas.Send(&event.TextDelta{Text: text[:n]})
			if strings.Contains(shown, token[:6]) {
				t.Fatalf("in pieces of %d it shows %q", size, shown)
			}
			text = text[n:]
		}
		if deltas.End(); shown != "it is "+secret.Redacted+" indeed" {
			t.Errorf("in pieces of %d it shows %q", size, shown)
		}
	}
}

// A reader that wants no more gets no more.
func TestMaskDeltasStops(t *testing.T) {
	t.Parallel()
	n := 0
	deltas := guardrail.MaskDeltas(secret.NewMask(secret.New(token)), func(event.Body) bool { n++; return false })
	goesOn := deltas.Send(&event.TextDelta{Text: strings.Repeat("a", 1000)})
	deltas.Send(&event.TextDelta{Text: strings.Repeat("b", 1000)})
	if deltas.End(); goesOn || n != 1 {
		t.Errorf("it goes on: %v, and has sent %d times", goesOn, n)
	}
}
