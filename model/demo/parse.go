package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid/event"
)

// MaxScript bounds the size of a script file in bytes.
const MaxScript = 1 << 20

// Parse parses a script in YAML. name becomes its [Script.Name]. Parse refuses unknown fields
// with an *[event.Error] that names the line and the field, of kind ErrInvalid, or ErrTooLarge
// above [MaxScript]. [New] checks the values of the fields.
func Parse(name string, data []byte) (Script, error) {
	s := Script{Name: name}
	if len(data) > MaxScript {
		return s, &event.Error{
			Op: op, Kind: event.ErrTooLarge, Message: "the demo script is larger than 1 MiB",
			Hint: "leave out what is not needed",
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return s, wrong("it is empty")
		}
		return s, wrong(clip(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	var more yaml.Node
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return s, wrong("it holds more than one YAML document")
	}
	p := parser{}
	p.script(doc.Content[0], &s)
	if p.err != nil {
		return s, p.err
	}
	return s, nil
}

// parser keeps the first error.
type parser struct {
	err error
}

func (p *parser) failf(n *yaml.Node, field, format string, args ...any) {
	if p.err == nil {
		p.err = wrong("line " + strconv.Itoa(n.Line) + ", " + field + ": " + fmt.Sprintf(format, args...))
	}
}

// fields parses a mapping. set holds a function for each known key.
func (p *parser) fields(n *yaml.Node, where string, set map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.failf(n, where, "must be a list of \"key: value\"")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content) && p.err == nil; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		do, ok := set[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !ok:
			names := []string{}
			for name := range set {
				names = append(names, name)
			}
			slices.Sort(names)
			p.failf(key, where, "there is no %q; there are %s", clip(key.Value), strings.Join(names, ", "))
		case seen[key.Value]:
			p.failf(key, where, "%q stands twice", key.Value)
		case value.Kind == yaml.AliasNode:
			p.failf(value, where, "aliases are not allowed")
		default:
			seen[key.Value] = true
			do(value)
		}
	}
}

func (p *parser) items(n *yaml.Node, where string, each func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		p.failf(n, where, "must be a list")
		return
	}
	for _, item := range n.Content {
		if item.Kind == yaml.AliasNode {
			p.failf(item, where, "aliases are not allowed")
		}
		if p.err != nil {
			return
		}
		each(item)
	}
}

func (p *parser) text(n *yaml.Node, where string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!binary" {
		p.failf(n, where, "must be text")
		return ""
	}
	if n.Tag == "!!null" {
		p.failf(n, where, "is empty")
		return ""
	}
	return n.Value
}

// names parses one text or a list of texts.
func (p *parser) names(n *yaml.Node, where string) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{p.text(n, where)}
	}
	var out []string
	p.items(n, where, func(n *yaml.Node) { out = append(out, p.text(n, where)) })
	return out
}

func (p *parser) number(n *yaml.Node, where string) int {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		p.failf(n, where, "must be a whole number")
	}
	return v
}

func (p *parser) count(n *yaml.Node, where string) int64 {
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || err != nil {
		p.failf(n, where, "must be a whole number")
	}
	return v
}

func (p *parser) duration(n *yaml.Node, where string) time.Duration {
	v, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		p.failf(n, where, "must be a time such as 300ms or 1.5s")
	}
	return v
}

func (p *parser) boolean(n *yaml.Node, where string) *bool {
	v := n.Value == "true"
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || (!v && n.Value != "false") {
		p.failf(n, where, "must be true or false")
	}
	return &v
}

// spoken parses a text, or texts by language, of which "en" is required.
func (p *parser) spoken(n *yaml.Node, where string) (text string, translations map[string]string) {
	if n.Kind == yaml.ScalarNode {
		return p.text(n, where), nil
	}
	set := map[string]func(*yaml.Node){}
	for _, lang := range languages {
		set[lang] = func(n *yaml.Node) {
			if lang == "en" {
				text = p.text(n, where+".en")
				return
			}
			if translations == nil {
				translations = map[string]string{}
			}
			translations[lang] = p.text(n, where+"."+lang)
		}
	}
	p.fields(n, where, set)
	if text == "" {
		p.failf(n, where, "has no \"en\", which stands for every language that has no text of its own")
	}
	return text, translations
}

func (p *parser) script(n *yaml.Node, s *Script) {
	p.fields(n, "script", map[string]func(*yaml.Node){
		"about": func(n *yaml.Node) { s.About = p.text(n, "about") },
		"prompt": func(n *yaml.Node) {
			en, others := p.spoken(n, "prompt")
			s.Prompt = map[string]string{"en": en}
			maps.Copy(s.Prompt, others)
		},
		"timing": func(n *yaml.Node) { p.timing(n, "timing", &s.Timing) },
		"rules": func(n *yaml.Node) {
			p.items(n, "rules", func(n *yaml.Node) {
				if len(s.Rules) >= maxRules {
					p.failf(n, "rules", "there are more than %d", maxRules)
					return
				}
				s.Rules = append(s.Rules, p.rule(n, len(s.Rules)+1))
			})
		},
	})
}

func (p *parser) rule(n *yaml.Node, i int) Rule {
	r := Rule{line: n.Line}
	where := "rule " + strconv.Itoa(i)
	in := func(field string) string { return where + ", " + field }
	p.fields(n, where, map[string]func(*yaml.Node){
		"name":  func(n *yaml.Node) { r.Name = p.text(n, in("name")) },
		"when":  func(n *yaml.Node) { p.when(n, in("when"), &r.When) },
		"reply": func(n *yaml.Node) { r.Reply = p.reply(n, in("reply")) },
		"stop":  func(n *yaml.Node) { r.Stop = event.StopReason(p.text(n, in("stop"))) },
		"usage": func(n *yaml.Node) {
			u := &event.Usage{}
			r.Usage = u
			into := func(field *int64, name string) func(*yaml.Node) {
				return func(n *yaml.Node) { *field = p.count(n, in("usage."+name)) }
			}
			p.fields(n, in("usage"), map[string]func(*yaml.Node){
				"input": into(&u.Input, "input"), "output": into(&u.Output, "output"), "total": into(&u.Total, "total"),
				"cache_read": into(&u.CacheRead, "cache_read"), "cache_write": into(&u.CacheWrite, "cache_write"),
				"reasoning": into(&u.Reasoning, "reasoning"), "web_searches": into(&u.WebSearches, "web_searches"),
				"file_searches": into(&u.FileSearches, "file_searches"),
			})
		},
		"timing": func(n *yaml.Node) { p.timing(n, in("timing"), &r.Timing) },
		"fault":  func(n *yaml.Node) { r.Fault = p.fault(n, in("fault")) },
	})
	return r
}

func (p *parser) timing(n *yaml.Node, where string, t *Timing) {
	p.fields(n, where, map[string]func(*yaml.Node){
		"first_byte": func(n *yaml.Node) { t.FirstByte = p.duration(n, where+".first_byte") },
		"total":      func(n *yaml.Node) { t.Total = p.duration(n, where+".total") },
		"rate": func(n *yaml.Node) {
			v, err := strconv.ParseFloat(n.Value, 64)
			if n.Kind != yaml.ScalarNode || err != nil || !(v > 0) || v > 1e9 {
				p.failf(n, where+".rate", "must be a number above 0: pieces a second")
			}
			t.Rate = v
		},
	})
}

func (p *parser) when(n *yaml.Node, where string, w *When) {
	in := func(field string) string { return where + "." + field }
	p.fields(n, where, map[string]func(*yaml.Node){
		"user":     func(n *yaml.Node) { w.User = p.names(n, in("user")) },
		"language": func(n *yaml.Node) { w.Language = p.text(n, in("language")) },
		"finds":    func(n *yaml.Node) { w.Finds = Finder(p.text(n, in("finds"))) },
		"tool":     func(n *yaml.Node) { w.Tool = p.names(n, in("tool")) },
		"missing":  func(n *yaml.Node) { w.Missing = p.names(n, in("missing")) },
		"after":    func(n *yaml.Node) { w.After = p.names(n, in("after")) },
		"failed":   func(n *yaml.Node) { w.Failed = p.boolean(n, in("failed")) },
		"result":   func(n *yaml.Node) { w.Result = p.text(n, in("result")) },
		"round": func(n *yaml.Node) {
			if n.Kind == yaml.ScalarNode && n.Value == "any" {
				w.Round = AnyRound
				return
			}
			if w.Round = p.number(n, in("round")); w.Round < 1 {
				p.failf(n, in("round"), "must be a number from 1, or any")
			}
		},
		"turn":    func(n *yaml.Node) { w.Turn = p.number(n, in("turn")) },
		"cycle":   func(n *yaml.Node) { w.Cycle = p.number(n, in("cycle")) },
		"attempt": func(n *yaml.Node) { w.Attempt = p.number(n, in("attempt")) },
	})
}

// reply parses a text or a list of pieces.
func (p *parser) reply(n *yaml.Node, where string) []Piece {
	if n.Kind == yaml.ScalarNode {
		return []Piece{Say(p.text(n, where))}
	}
	var out []Piece
	p.items(n, where, func(n *yaml.Node) {
		in := where + " " + strconv.Itoa(len(out)+1)
		if n.Kind == yaml.ScalarNode {
			out = append(out, Say(p.text(n, in)))
			return
		}
		var piece Piece
		p.fields(n, in, map[string]func(*yaml.Node){
			"thinking": func(n *yaml.Node) { piece.Thinking, piece.Translations = p.spoken(n, in+".thinking") },
			"text":     func(n *yaml.Node) { piece.Text, piece.Translations = p.spoken(n, in+".text") },
			"call":     func(n *yaml.Node) { piece.Call = p.text(n, in+".call") },
			"id":       func(n *yaml.Node) { piece.ID = p.text(n, in+".id") },
			"args": func(n *yaml.Node) {
				var b bytes.Buffer
				p.json(n, in+".args", &b, 0)
				piece.Args = b.Bytes()
			},
		})
		out = append(out, piece)
	})
	return out
}

// json writes a YAML value as JSON and keeps the order of members.
func (p *parser) json(n *yaml.Node, where string, b *bytes.Buffer, depth int) {
	if depth > maxDepth {
		p.failf(n, where, "is nested deeper than %d", maxDepth)
	}
	if p.err != nil {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				p.failf(key, where, "a key must be text")
				return
			}
			if seen[key.Value] {
				p.failf(key, where, "%q stands twice", clip(key.Value))
				return
			}
			seen[key.Value] = true
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(quote(key.Value))
			b.WriteByte(':')
			p.json(n.Content[i+1], where, b, depth+1)
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			p.json(item, where, b, depth+1)
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		p.scalar(n, where, b)
	default:
		p.failf(n, where, "aliases are not allowed")
	}
}

func (p *parser) scalar(n *yaml.Node, where string, b *bytes.Buffer) {
	switch n.Tag {
	case "!!null":
		b.WriteString("null")
	case "!!bool", "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			b.WriteString(n.Value)
			return
		}
		var v any // YAML's other forms, such as 0x1f
		if err := n.Decode(&v); err == nil {
			if out, err := json.Marshal(v); err == nil {
				b.Write(out)
				return
			}
		}
		p.failf(n, where, "%q has no form in JSON; put it in quotes to make it text", clip(n.Value))
	case "!!str", "!!timestamp":
		b.Write(quote(n.Value))
	default:
		p.failf(n, where, "the tag %q is not allowed", clip(n.Tag))
	}
}

func (p *parser) fault(n *yaml.Node, where string) *Fault {
	f := &Fault{}
	if n.Kind == yaml.ScalarNode {
		f.Kind = FaultKind(p.text(n, where))
		return f
	}
	p.fields(n, where, map[string]func(*yaml.Node){
		"kind":        func(n *yaml.Node) { f.Kind = FaultKind(p.text(n, where+".kind")) },
		"cycle":       func(n *yaml.Node) { f.Cycle = p.number(n, where+".cycle") },
		"attempts":    func(n *yaml.Node) { f.Attempts = p.number(n, where+".attempts") },
		"after":       func(n *yaml.Node) { f.After = p.number(n, where+".after") },
		"retry_after": func(n *yaml.Node) { f.RetryAfter = p.duration(n, where+".retry_after") },
		"size":        func(n *yaml.Node) { f.Size = p.number(n, where+".size") },
	})
	return f
}
