package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
)

// template is text with ${…} in it.
type template struct {
	parts []part
}

type part struct {
	// text is literal if name is empty.
	text string
	// name is a variable, split at its dots.
	name   []string
	number bool
}

// The variables that every rule may use, in addition to its patterns' groups.
var variables = []string{
	"args", "attempt", "calculating", "calculation", "cycle", "expression", "language",
	"result", "round", "tool", "tools", "turn", "user",
}

// parseTemplate parses text with ${name}, ${name|number} and $${ for a literal ${. known reports whether a name
// exists.
func parseTemplate(s string, known func(string) bool) (template, error) {
	var t template
	var lit strings.Builder
	for s != "" {
		i := strings.Index(s, "${")
		if i < 0 {
			lit.WriteString(s)
			break
		}
		if i > 0 && s[i-1] == '$' {
			lit.WriteString(s[:i-1])
			lit.WriteString("${")
			s = s[i+2:]
			continue
		}
		lit.WriteString(s[:i])
		s = s[i+2:]
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return t, errors.New("a ${ has no }; write $${ for a plain ${")
		}
		name, filter, filtered := strings.Cut(s[:end], "|")
		s = s[end+1:]
		if filtered && filter != "number" {
			return t, fmt.Errorf("there is no filter %q; there is \"number\"", clip(filter))
		}
		path := strings.Split(name, ".")
		if !known(path[0]) || slices.Contains(path, "") || (len(path) > 1 && path[0] != "result") {
			return t, fmt.Errorf("there is no ${%s}; there are the groups of the rule's patterns and %s", clip(name), strings.Join(variables, ", "))
		}
		if lit.Len() > 0 {
			t.parts = append(t.parts, part{text: lit.String()})
			lit.Reset()
		}
		t.parts = append(t.parts, part{name: path, number: filtered})
	}
	if lit.Len() > 0 {
		t.parts = append(t.parts, part{text: lit.String()})
	}
	return t, nil
}

func (t template) static() bool {
	for i := range t.parts {
		if t.parts[i].name != nil {
			return false
		}
	}
	return true
}

func (t template) expand(s *scene) string {
	if len(t.parts) == 1 && t.parts[0].name == nil {
		return t.parts[0].text
	}
	var b strings.Builder
	for i := range t.parts {
		p := &t.parts[i]
		if p.name == nil {
			b.WriteString(p.text)
			continue
		}
		text, _ := s.value(p.name)
		b.WriteString(text)
	}
	return b.String()
}

// json expands the template into one JSON value. A template of exactly one variable has the variable's type; any
// other is a string.
func (t template) json(s *scene) []byte {
	if len(t.parts) == 1 && t.parts[0].name != nil {
		text, raw := s.value(t.parts[0].name)
		if raw != nil {
			return raw
		}
		if t.parts[0].number && json.Valid([]byte(text)) && isNumber(text) {
			return []byte(text)
		}
		return quote(text)
	}
	return quote(t.expand(s))
}

func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && s[0] >= '0' && s[0] <= '9'
}

func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// value returns a variable. raw is set for JSON variables. A missing variable is empty.
func (s *scene) value(name []string) (text string, raw json.RawMessage) {
	number := func(n int) (string, json.RawMessage) {
		t := strconv.Itoa(n)
		return t, json.RawMessage(t)
	}
	switch name[0] {
	case "user":
		return s.said, nil
	case "language":
		return s.lang, nil
	case "tool":
		return s.tool, nil
	case "tools":
		names := make([]string, len(s.req.Tools))
		for i := range s.req.Tools {
			names[i] = s.req.Tools[i].Name
		}
		return strings.Join(names, ", "), nil
	case "args":
		if s.args == nil {
			return "{}", json.RawMessage("{}")
		}
		return string(s.args), s.args
	case "turn":
		return number(s.turn())
	case "round":
		return number(s.round)
	case "cycle":
		return number(s.req.Cycle)
	case "attempt":
		return number(s.req.Attempt)
	case "expression":
		if c := s.calculation(); c != nil {
			return c.String(), nil
		}
		return "", nil
	case "calculation":
		if c := s.calculation(); c != nil {
			return c.phrase(s.lang), nil
		}
		return "", nil
	case "calculating":
		if c := s.calculation(); c != nil {
			return c.plan(s.lang), nil
		}
		return "", nil
	case "result":
		return s.resultValue(name[1:])
	}
	return s.groups[name[0]], nil
}

// resultValue returns ${result}, ${result.TOOL} or ${result.TOOL.MEMBER…}.
func (s *scene) resultValue(path []string) (string, json.RawMessage) {
	var r *event.ToolResult
	switch {
	case len(path) > 0:
		r = s.lastOf(path[0])
		path = path[1:]
	case s.result != nil:
		r = s.result
	default:
		r = s.lastOf("")
	}
	if len(path) > 0 {
		raw := member(r, path)
		if raw == nil {
			return "", nil
		}
		return scalar(raw), raw
	}
	text := plain(r)
	if isNumber(text) && json.Valid([]byte(text)) {
		return text, json.RawMessage(text)
	}
	return text, nil
}

// arguments are a call's arguments with ${…} in strings. Members keep their order.
type arguments struct {
	// literal is the whole value if it has no variables.
	literal string
	root    *node
}

type node struct {
	text    *template
	literal []byte
	object  bool
	keys    []string
	items   []*node
}

const maxDepth = 100

// parseArguments parses JSON; nil means {}.
func parseArguments(raw json.RawMessage, known func(string) bool) (arguments, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return arguments{literal: "{}"}, nil
	}
	if !json.Valid(raw) {
		return arguments{}, errors.New("is no JSON; to send broken arguments use the fault bad_arguments")
	}
	if !bytes.Contains(raw, []byte("${")) {
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			return arguments{}, errors.New("is no JSON")
		}
		return arguments{literal: b.String()}, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	n, err := parseNode(d, known, 0)
	if err != nil {
		return arguments{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return arguments{}, errors.New("is more than one JSON value")
	}
	if n.literal != nil {
		return arguments{literal: string(n.literal)}, nil
	}
	return arguments{root: n}, nil
}

func parseNode(d *json.Decoder, known func(string) bool, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("is nested deeper than %d", maxDepth)
	}
	tok, err := d.Token()
	if err != nil {
		return nil, errors.New("is no JSON")
	}
	switch v := tok.(type) {
	case json.Delim:
		n := &node{object: v == '{'}
		for d.More() {
			if n.object {
				key, err := d.Token()
				if err != nil {
					return nil, errors.New("is no JSON")
				}
				name, ok := key.(string)
				if !ok {
					return nil, errors.New("is no JSON")
				}
				n.keys = append(n.keys, name)
			}
			item, err := parseNode(d, known, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		if _, err := d.Token(); err != nil {
			return nil, errors.New("is no JSON")
		}
		return n, nil
	case string:
		t, err := parseTemplate(v, known)
		if err != nil {
			return nil, err
		}
		if t.static() {
			return &node{literal: quote(t.expand(nil))}, nil
		}
		return &node{text: &t}, nil
	case json.Number:
		return &node{literal: []byte(v.String())}, nil
	case bool:
		return &node{literal: strconv.AppendBool(nil, v)}, nil
	default:
		return &node{literal: []byte("null")}, nil
	}
}

func (a arguments) static() bool { return a.root == nil }

func (a arguments) expand(s *scene) string {
	if a.root == nil {
		return a.literal
	}
	return string(a.root.append(nil, s))
}

func (n *node) append(b []byte, s *scene) []byte {
	switch {
	case n.literal != nil:
		return append(b, n.literal...)
	case n.text != nil:
		return append(b, n.text.json(s)...)
	}
	open, shut := byte('['), byte(']')
	if n.object {
		open, shut = '{', '}'
	}
	b = append(b, open)
	for i, item := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		if n.object {
			b = append(append(b, quote(n.keys[i])...), ':')
		}
		b = item.append(b, s)
	}
	return append(b, shut)
}

// clip shortens text of a script for an error message.
func clip(s string) string {
	if len(s) > 60 {
		return s[:cut(s, 60)] + "…"
	}
	return s
}
