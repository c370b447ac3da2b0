package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/braidrun/braid/secret"
)

// gap is the first place in which a request is not what was recorded.
type gap struct {
	where   string
	was, is string
}

// words tells of it.
func (g *gap) words() string {
	return g.where + " is " + g.is + ", the recording has " + g.was
}

// compare finds the first gap between what was recorded and what is asked; nil where
// there is none. With drifting, results of tools may differ: drifts lists those that do.
func (p *Player) compare(c *call, a *asked, drifting bool) (g *gap, drifts []Drift) {
	if g := compareSetup(&p.tape.setups[c.Setup-1], &a.setup); g != nil {
		return g, nil
	}
	was := c.all()
	for i := range min(len(was), len(a.messages)) {
		if bytes.Equal(was[i], a.messages[i]) {
			continue
		}
		g, d := compareMessage(i, was[i], a.messages[i], drifting)
		if g != nil {
			return g, nil
		}
		drifts = append(drifts, d...)
	}
	if len(was) != len(a.messages) {
		return &gap{"the number of messages", strconv.Itoa(len(was)), strconv.Itoa(len(a.messages))}, nil
	}
	return nil, drifts
}

// compareSetup compares what stands beside the messages.
func compareSetup(was, is *setupLine) *gap {
	if !fits(was.Instructions, is.Instructions) {
		return stringGap("the instructions", was.Instructions, is.Instructions)
	}
	names := func(tools []toolLine) string {
		list := make([]string, len(tools))
		for i := range tools {
			list[i] = tools[i].Name
		}
		return strings.Join(list, ", ")
	}
	if w, i := names(was.Tools), names(is.Tools); w != i {
		return stringGap("the list of tools", w, i)
	}
	for i := range was.Tools {
		w, n := &was.Tools[i], &is.Tools[i]
		of := " of the tool " + strconv.Quote(w.Name)
		if !fits(w.Description, n.Description) {
			return stringGap("the description"+of, w.Description, n.Description)
		}
		if g := compareJSON("the schema"+of, w.Schema, n.Schema); g != nil {
			return g
		}
	}
	for _, part := range []struct {
		where   string
		was, is any
	}{
		{"the choice of tools", was.Choice, is.Choice},
		{"the form of the answer", was.Output, is.Output},
		{"the model's options", was.Options.hidingThinking(), is.Options.hidingThinking()},
	} {
		w, werr := json.Marshal(part.was)
		n, nerr := json.Marshal(part.is)
		if werr != nil || nerr != nil {
			continue // they were JSON before
		}
		if g := compareJSON(part.where, w, n); g != nil {
			return g
		}
	}
	return nil
}

// compareMessage compares two messages block by block.
func compareMessage(i int, was, is json.RawMessage, drifting bool) (*gap, []Drift) {
	var w, n struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	where := "message " + strconv.Itoa(i+1)
	if json.Unmarshal(was, &w) != nil || json.Unmarshal(is, &n) != nil {
		return compareJSON(where, was, is), nil
	}
	if w.Role != n.Role {
		return stringGap("the role of "+where, w.Role, n.Role), nil
	}
	where += " (" + w.Role + ")"
	var drifts []Drift
	for k := range min(len(w.Content), len(n.Content)) {
		g := compareJSON(where+", block "+strconv.Itoa(k+1), w.Content[k], n.Content[k])
		if g == nil {
			continue
		}
		d := drift(w.Content[k], n.Content[k], g)
		if d == nil || !drifting {
			return g, nil
		}
		drifts = append(drifts, *d)
	}
	if len(w.Content) != len(n.Content) {
		return &gap{"the number of blocks of " + where, strconv.Itoa(len(w.Content)), strconv.Itoa(len(n.Content))}, nil
	}
	return nil, drifts
}

// drift is the gap between two results of one call; nil where they are not that.
func drift(was, is json.RawMessage, g *gap) *Drift {
	var w, n struct {
		Kind string `json:"kind"`
		Call string `json:"call"`
		Name string `json:"name"`
	}
	if json.Unmarshal(was, &w) != nil || json.Unmarshal(is, &n) != nil || w != n || w.Kind != "tool_result" {
		return nil
	}
	return &Drift{Call: w.Call, Tool: w.Name, Was: g.was, Is: g.is}
}

// compareJSON compares two JSON texts; either may be none.
func compareJSON(where string, was, is json.RawMessage) *gap {
	if bytes.Equal(was, is) {
		return nil
	}
	if len(was) == 0 || len(is) == 0 {
		return &gap{where, shown(was), shown(is)}
	}
	w, werr := parse(was)
	n, nerr := parse(is)
	if werr != nil || nerr != nil {
		return &gap{where, shown(was), shown(is)}
	}
	return compareValues(where, w, n)
}

func parse(raw json.RawMessage) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

func shown(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return excerpt(string(raw), 0)
}

func valueShown(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(excerpt(s, 0))
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return excerpt(string(raw), 0)
}

// compareValues compares two decoded values, strings by [fits].
func compareValues(where string, was, is any) *gap {
	switch w := was.(type) {
	case string:
		n, ok := is.(string)
		switch {
		case ok && fits(w, n), !ok && w == secret.Redacted && scalar(is):
			return nil
		case ok:
			return stringGap(where, w, n)
		}
	case []any:
		if n, ok := is.([]any); ok {
			for i := range min(len(w), len(n)) {
				if g := compareValues(where+"["+strconv.Itoa(i)+"]", w[i], n[i]); g != nil {
					return g
				}
			}
			if len(w) == len(n) {
				return nil
			}
			return &gap{"the length of " + where, strconv.Itoa(len(w)), strconv.Itoa(len(n))}
		}
	case map[string]any:
		if n, ok := is.(map[string]any); ok {
			return compareObjects(where, w, n)
		}
	default:
		if was == is {
			return nil
		}
	}
	return &gap{where, valueShown(was), valueShown(is)}
}

func scalar(v any) bool {
	_, number := v.(json.Number)
	return number
}

func compareObjects(where string, was, is map[string]any) *gap {
	keys := make([]string, 0, len(was))
	for k := range was {
		keys = append(keys, k)
	}
	for k := range is {
		if _, both := was[k]; !both {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	for _, k := range keys {
		w, inWas := was[k]
		n, inIs := is[k]
		at := where + ", " + excerpt(k, 0)
		switch {
		case !inWas:
			return &gap{at, "nothing", valueShown(n)}
		case !inIs:
			return &gap{at, valueShown(w), "nothing"}
		}
		if g := compareValues(at, w, n); g != nil {
			return g
		}
	}
	return nil
}

// fits reports whether a text is the recorded one, of which "[redacted]" fits
// anything.
func fits(was, is string) bool {
	if was == is {
		return true
	}
	parts := strings.Split(was, secret.Redacted)
	if len(parts) == 1 || !strings.HasPrefix(is, parts[0]) {
		return false
	}
	is = is[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(is, part)
		if i < 0 {
			return false
		}
		is = is[i+len(part):]
	}
	return strings.HasSuffix(is, last)
}

// stringGap shows two texts around the first place in which they differ.
func stringGap(where, was, is string) *gap {
	at := 0
	for at < len(was) && at < len(is) && was[at] == is[at] {
		at++
	}
	return &gap{where, strconv.Quote(excerpt(was, at)), strconv.Quote(excerpt(is, at))}
}

// excerpt is a short piece of a text around a place.
func excerpt(s string, at int) string {
	const before, length = 20, 60
	from := max(0, min(at, len(s))-before)
	for from > 0 && from < len(s) && !utf8.RuneStart(s[from]) {
		from--
	}
	to := min(len(s), from+length)
	for to > from && to < len(s) && !utf8.RuneStart(s[to]) {
		to--
	}
	out := s[from:to]
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}
