// Package guardrail applies rules to the output of agents and tools: to texts, blocks of content, tool results, errors
// and the live pieces of an answer. It depends on no agent and no run.
package guardrail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
)

// Redacted replaces a text of which a rule left nothing.
const Redacted = secret.Redacted

// Rule is one guardrail. Exactly one of Check and Mask is set.
type Rule struct {
	Name string
	// Check returns the text that may pass, which is the same text if nothing is wrong. It must not panic.
	Check func(ctx context.Context, text string) (string, error)
	// Mask hides secrets. It is not recorded under Name.
	Mask *secret.Mask
}

// HasChecks reports whether one of the rules is a check of the program.
func HasChecks(rules []Rule) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.Mask == nil })
}

// Filter applies rules, each to the result of the previous one. It is not safe for concurrent use.
//
// After a failed check, the filter checks nothing more and sets [Filter.Err]. Then nothing that the filter was given
// may pass.
type Filter struct {
	ctx   context.Context //nolint:containedctx // a filter lives for one call
	rules []Rule
	by    []string
	err   error
}

// New returns a filter of rules. Their checks get ctx.
func New(ctx context.Context, rules []Rule) *Filter { return &Filter{ctx: ctx, rules: rules} }

// By returns the names of the rules that have changed something, each once.
func (f *Filter) By() []string { return f.by }

// Err returns the error of the first check that failed; nil if none did.
func (f *Filter) Err() error { return f.err }

// Text filters a text.
func (f *Filter) Text(text string) string {
	for i := range f.rules {
		rule := &f.rules[i]
		if text == "" || f.err != nil {
			return text
		}
		if rule.Mask != nil {
			text = rule.Mask.Hide(text)
			continue
		}
		passed, err := rule.Check(f.ctx, text)
		if err != nil {
			f.fail(rule, err)
			continue
		}
		if passed != text {
			text = strings.ToValidUTF8(passed, "\uFFFD")
			if !slices.Contains(f.by, rule.Name) {
				f.by = append(f.by, rule.Name)
			}
		}
	}
	return text
}

// fail records that a check failed.
func (f *Filter) fail(rule *Rule, err error) {
	e := &event.Error{
		Op: "guardrail " + rule.Name, Kind: event.ErrInternal,
		Message: "the guardrail " + rule.Name + " could not look at it, so that it does not pass",
		Hint:    "try again; the operator sees why", Err: err,
	}
	if errors.Is(err, context.Canceled) {
		e.Kind = event.ErrCancelled
	}
	f.err = e
}

// JSON filters the texts of a JSON value: member names, strings and numbers. It returns raw itself if nothing changes.
func (f *Filter) JSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return raw
	}
	changed := false
	v = f.value(v, &changed)
	if !changed {
		return raw
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		f.err = err
		return raw
	}
	return bytes.TrimSpace(buf.Bytes())
}

// value filters a decoded JSON value.
func (f *Filter) value(v any, changed *bool) any {
	pass := func(text string) string {
		passed := f.Text(text)
		*changed = *changed || passed != text
		return passed
	}
	switch v := v.(type) {
	case string:
		return pass(v)
	case json.Number:
		if passed := pass(v.String()); passed != v.String() {
			return passed // the replacement need not be a number: it becomes a string
		}
		return v
	case []any:
		for i := range v {
			v[i] = f.value(v[i], changed)
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, one := range v {
			out[pass(k)] = f.value(one, changed)
		}
		return out
	default:
		return v
	}
}

// Error filters an error's texts, because a provider's error may repeat the request. A changed error loses its cause,
// which would still hold the text.
func (f *Filter) Error(err error) error {
	if err == nil || f.err != nil {
		return err
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		c := *e
		c.Message, c.Hint = f.Text(e.Message), f.Text(e.Hint)
		changed := c.Message != e.Message || c.Hint != e.Hint
		if e.Err != nil && f.Text(e.Err.Error()) != e.Err.Error() {
			c.Err, changed = f.cause(e.Err), true
		}
		if changed {
			return &c
		}
		return err
	}
	if text := f.Text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// cause returns a replacement for the cause of a changed error. It keeps the kind, which fallbacks need. It keeps the
// text only if all rules are masks, so that the operator learns what went wrong.
func (f *Filter) cause(err error) error {
	e, known := errors.AsType[*event.Error](err)
	text := ""
	if !HasChecks(f.rules) {
		text = f.Text(err.Error())
	}
	switch {
	case known:
		return &event.Error{Kind: event.KindOf(e), Message: text}
	case text != "":
		return errors.New(text)
	default:
		return nil
	}
}
