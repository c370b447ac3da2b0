package demo

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/model"
)

// parameter is a property of a tool's schema, with what a script uses of it.
type parameter struct {
	name     string
	kind     string // string, number, integer, boolean, array, object, or ""
	items    string // the kind of an array's items
	enum     []string
	required bool
}

// parametersOf returns the properties of a tool's schema in their order, required ones first. It returns nil for an
// invalid schema.
func parametersOf(schema json.RawMessage) []parameter {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil || len(s.Properties) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []parameter
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		name, _ := key.(string)
		var p struct {
			Type  json.RawMessage `json:"type"`
			Enum  []any           `json:"enum"`
			Items struct {
				Type json.RawMessage `json:"type"`
			} `json:"items"`
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return nil
		}
		if json.Unmarshal(raw, &p) != nil {
			p.Type = nil // "true" is also a schema and allows anything
		}
		q := parameter{name: name, kind: kindOf(p.Type), items: kindOf(p.Items.Type), required: slices.Contains(s.Required, name)}
		for _, v := range p.Enum {
			if str, ok := v.(string); ok {
				q.enum = append(q.enum, str)
			}
		}
		out = append(out, q)
	}
	slices.SortStableFunc(out, func(a, b parameter) int { return boolInt(b.required) - boolInt(a.required) })
	return out
}

// kindOf parses "type": a name, or a list, of which the first that is not null counts.
func kindOf(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		for _, k := range many {
			if k != "null" {
				return k
			}
		}
	}
	return ""
}

func (p parameter) numeric() bool { return p.kind == "number" || p.kind == "integer" }

// The names of tools that do one operation.
var operations = map[byte][]string{
	'+': {"add", "addition", "sum", "plus", "adder"},
	'-': {"subtract", "subtraction", "sub", "minus", "difference"},
	'*': {"multiply", "multiplication", "mul", "times", "product"},
	'/': {"divide", "division", "div", "quotient"},
	'^': {"power", "pow", "exponent", "exponentiate"},
}

// operationTool finds a tool that applies sign to two numbers, and returns its arguments.
func operationTool(tools []model.ToolSpec, sign byte, a, b string) (string, json.RawMessage) {
	for i := range tools {
		t := &tools[i]
		if !slices.ContainsFunc(nameWords(t.Name), func(w string) bool { return slices.Contains(operations[sign], w) }) {
			continue
		}
		if args := operands(parametersOf(t.Schema), a, b); args != nil {
			return t.Name, args
		}
	}
	return "", nil
}

// operands returns arguments for a schema with two numbers or one list of numbers; nil for other schemas.
func operands(params []parameter, a, b string) json.RawMessage {
	needed := 0
	var numbers []parameter
	for _, p := range params {
		if p.required {
			needed++
		}
		if p.numeric() {
			numbers = append(numbers, p)
		}
	}
	if len(numbers) >= 2 && needed <= 2 && fits(numbers[0], a) && fits(numbers[1], b) {
		for _, p := range params {
			if p.required && !p.numeric() {
				return nil
			}
		}
		return object(numbers[0].name, []byte(a), numbers[1].name, []byte(b))
	}
	if len(params) > 0 && needed <= 1 && params[0].kind == "array" && (params[0].items == "number" || params[0].items == "integer") {
		item := parameter{kind: params[0].items}
		if fits(item, a) && fits(item, b) {
			return object(params[0].name, []byte("["+a+","+b+"]"))
		}
	}
	return nil
}

// fits reports whether a number is valid for p.
func fits(p parameter, n string) bool {
	return json.Valid([]byte(n)) && isNumber(n) && (p.kind == "number" || !strings.ContainsAny(n, ".eE"))
}

// object writes names and JSON values in turn.
func object(first string, value []byte, rest ...any) json.RawMessage {
	b := append([]byte{'{'}, quote(first)...)
	b = append(append(b, ':'), value...)
	for i := 0; i+1 < len(rest); i += 2 {
		name, _ := rest[i].(string)
		v, _ := rest[i+1].([]byte)
		b = append(append(b, ','), quote(name)...)
		b = append(append(b, ':'), v...)
	}
	return append(b, '}')
}

// nameWords splits a tool's name, such as "addTwo_numbers", into lower-case words.
func nameWords(name string) []string {
	var words []string
	var w []rune
	end := func() {
		if len(w) > 0 {
			words = append(words, strings.ToLower(string(w)))
			w = nil
		}
	}
	lower := false
	for _, r := range name {
		if !unicode.IsLetter(r) {
			end()
			lower = false
			continue
		}
		if unicode.IsUpper(r) && lower {
			end()
		}
		lower = unicode.IsLower(r)
		w = append(w, r)
	}
	end()
	return words
}

// namedTool finds a tool whose name is in the user's message, and values there for its required parameters: JSON,
// "name: value" pairs, then numbers and the words after the tool's name. Of several names, one that begins the message
// counts, else the longest.
func namedTool(tools []model.ToolSpec, said string) (string, json.RawMessage) {
	if len(said) > 4000 || !utf8.ValidString(said) {
		return "", nil
	}
	best, rest, first := -1, "", strings.Fields(said + " .")[0]
	for i := range tools {
		name := tools[i].Name
		if best >= 0 && name != first && (tools[best].Name == first || len(name) <= len(tools[best].Name)) {
			continue
		}
		if after, ok := afterName(said, name); ok {
			best, rest = i, after
		}
	}
	if best < 0 {
		return "", nil
	}
	if args, ok := guess(parametersOf(tools[best].Schema), rest); ok {
		return tools[best].Name, args
	}
	return "", nil
}

// afterName returns the text after a tool's name. In the text, "_" and "-" may be a space or missing.
func afterName(said, name string) (string, bool) {
	words := nameWords(name)
	if len(words) == 0 {
		return "", false
	}
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	re, err := regexp.Compile(`(?i)(?:^|[^\pL\pN_])(?:` + regexp.QuoteMeta(name) + `|` + strings.Join(words, `[ _-]?`) + `)(?:[^\pL\pN_]|$)`)
	if err != nil {
		return "", false
	}
	loc := re.FindStringIndex(said)
	if loc == nil {
		return "", false
	}
	_, size := utf8.DecodeLastRuneInString(said[loc[0]:loc[1]])
	end := loc[1]
	if r, _ := utf8.DecodeLastRuneInString(said[:end]); !unicode.IsLetter(r) && !unicode.IsNumber(r) {
		end -= size
	}
	return said[end:], true
}

var (
	quoted  = lazyre.New(`"([^"]*)"|「([^」]*)」|“([^”]*)”|'([^']*)'`)
	numeric = lazyre.New(`-?\d+(?:\.\d+)?`)
	filler  = lazyre.New(`(?i)^[\s:,、。]*(?:(?:the )?tool|with|for|to|in|at|on|of|using|about|を|で|に|と|は)?[\s:,、]*`)
)

// guess fills params from text. ok is false if a required one stays empty.
func guess(params []parameter, text string) (json.RawMessage, bool) {
	if i := strings.IndexByte(text, '{'); i >= 0 {
		d := json.NewDecoder(strings.NewReader(text[i:]))
		var raw json.RawMessage
		if d.Decode(&raw) == nil {
			return raw, true
		}
	}
	values := map[string][]byte{}
	for _, p := range params {
		re, err := regexp.Compile(`(?i)(?:^|[^\pL\pN_])` + regexp.QuoteMeta(p.name) + `\s*[:=]\s*("[^"]*"|[^\s,;]+)`)
		if err != nil {
			continue
		}
		if m := re.FindStringSubmatchIndex(text); m != nil {
			if v, ok := asKind(p, strings.Trim(text[m[2]:m[3]], `"`)); ok {
				values[p.name] = v
				text = text[:m[0]] + " " + text[m[1]:]
			}
		}
	}
	var quotes []string
	for _, m := range quoted.FindAllStringSubmatch(text, 20) {
		quotes = append(quotes, m[1]+m[2]+m[3]+m[4])
	}
	text = quoted.ReplaceAllString(text, " ")
	numbers := numeric.FindAllString(text, 20)
	words := strings.Trim(filler.ReplaceAllString(text, ""), " \t\r\n.?!。？！")
	if hasNumeric(params) {
		words = strings.TrimSpace(numeric.ReplaceAllString(words, " "))
	}
	for _, p := range params {
		if values[p.name] != nil || !p.required {
			continue
		}
		var pick string
		switch {
		case p.numeric() && len(numbers) > 0:
			pick, numbers = numbers[0], numbers[1:]
		case len(p.enum) > 0:
			for _, e := range p.enum {
				if strings.Contains(strings.ToLower(text), strings.ToLower(e)) {
					pick = e
					break
				}
			}
		case p.kind == "boolean":
			pick = "true"
		case p.kind == "string" && len(quotes) > 0:
			pick, quotes = quotes[0], quotes[1:]
		case p.kind == "string" && words != "":
			pick, words = words, ""
		}
		v, ok := asKind(p, pick)
		if pick == "" || !ok {
			return nil, false
		}
		values[p.name] = v
	}
	b := []byte{'{'}
	for _, p := range params {
		if v := values[p.name]; v != nil {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(append(b, quote(p.name)...), ':'), v...)
		}
	}
	return append(b, '}'), true
}

func hasNumeric(params []parameter) bool {
	return slices.ContainsFunc(params, func(p parameter) bool { return p.required && p.numeric() })
}

// asKind writes text as a JSON value of p's kind.
func asKind(p parameter, text string) ([]byte, bool) {
	switch {
	case p.numeric():
		return []byte(text), fits(p, text)
	case p.kind == "boolean":
		return []byte(text), text == "true" || text == "false"
	case p.kind == "string" || p.kind == "":
		return quote(text), true
	default:
		return nil, false
	}
}
