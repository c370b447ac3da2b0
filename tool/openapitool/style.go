package openapitool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// pair is a name and a value of a query, a form or a cookie, both escaped.
type pair struct{ name, value string }

// value is an argument, by its form: text, list or fields.
type value struct {
	text   string
	list   []string
	fields [][2]string
	kind   byte // 't', 'l' or 'f'
}

// readValue reads an argument that is sent in a style. Objects keep the order of their members.
func readValue(raw json.RawMessage) (v value, err error) {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '[':
		v.kind = 'l'
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return v, err
		}
		for _, one := range list {
			text, err := plainText(one)
			if err != nil {
				return v, err
			}
			v.list = append(v.list, text)
		}
	case '{':
		v.kind = 'f'
		err = members(raw, func(key string, one []byte) error {
			text, err := plainText(one)
			v.fields = append(v.fields, [2]string{key, text})
			return err
		})
	default:
		v.kind = 't'
		v.text, err = plainText(raw)
	}
	return v, err
}

// plainText is a text, a number, a boolean or null as it is sent. A list or an object inside of another is sent as JSON.
func plainText(raw json.RawMessage) (string, error) {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case '[', '{': // OpenAPI does not say how it is written; this is what most servers read
		return string(raw), nil
	case 'n':
		return "", nil
	default:
		return string(raw), nil
	}
}

// join puts names and values of fields into one list.
func join(fields [][2]string, between string, escape func(string) string) []string {
	var out []string
	for _, f := range fields {
		if between != "" {
			out = append(out, escape(f[0])+between+escape(f[1]))
		} else {
			out = append(out, escape(f[0]), escape(f[1]))
		}
	}
	return out
}

func each(list []string, f func(string) string) []string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = f(one)
	}
	return out
}

// pathText writes a value of a path, in the styles simple, label and matrix (RFC 6570). What a value contains stays in its segment.
func (p *parameter) pathText(v value) string {
	name := escape(p.name)
	if v.kind == 't' {
		switch p.style {
		case "label":
			return "." + escape(v.text)
		case "matrix":
			return ";" + name + "=" + escape(v.text)
		}
		return escape(v.text)
	}
	items := each(v.list, escape)
	if v.kind == 'f' {
		items = join(v.fields, map[bool]string{true: "="}[p.explode], escape)
	}
	switch {
	case p.style == "label" && p.explode:
		return "." + strings.Join(items, ".")
	case p.style == "label":
		return "." + strings.Join(items, ",")
	case p.style == "matrix" && p.explode && v.kind == 'f':
		return ";" + strings.Join(items, ";")
	case p.style == "matrix" && p.explode:
		return ";" + name + "=" + strings.Join(items, ";"+name+"=")
	case p.style == "matrix":
		return ";" + name + "=" + strings.Join(items, ",")
	}
	return strings.Join(items, ",")
}

// headerText writes a value of a header, in the style simple.
func (p *parameter) headerText(v value) string {
	same := func(s string) string { return s }
	switch v.kind {
	case 'l':
		return strings.Join(v.list, ",")
	case 'f':
		return strings.Join(join(v.fields, map[bool]string{true: "="}[p.explode], same), ",")
	}
	return v.text
}

// pairs writes a value of a query, a form or a cookie.
func (p *parameter) pairs(raw json.RawMessage) ([]pair, error) {
	esc := escape
	if p.reserved {
		esc = escapeReserved
	}
	name := escape(p.name)
	if p.style == "deepObject" {
		if raw = bytes.TrimSpace(raw); raw[0] != '{' {
			return nil, errors.New("must be an object")
		}
		return deep(nil, name, raw, esc, 0)
	}
	v, err := readValue(raw)
	if err != nil {
		return nil, err
	}
	separator := map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C"}[p.style]
	if separator == "" {
		separator = ","
	}
	var out []pair
	switch {
	case v.kind == 't':
		out = []pair{{name, esc(v.text)}}
	case v.kind == 'l' && p.explode:
		for _, one := range v.list {
			out = append(out, pair{name, esc(one)})
		}
	case v.kind == 'l':
		out = []pair{{name, strings.Join(each(v.list, esc), separator)}}
	case p.explode:
		for _, f := range v.fields {
			out = append(out, pair{escape(f[0]), esc(f[1])})
		}
	default:
		out = []pair{{name, strings.Join(join(v.fields, "", esc), separator)}}
	}
	return out, nil
}

// deep writes an object as name[key]=value. OpenAPI does not say how deeper objects and lists are written; this is what most
// servers read.
func deep(out []pair, name string, raw json.RawMessage, esc func(string) string, depth int) ([]pair, error) {
	if depth > 20 {
		return nil, errDeep
	}
	var err error
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		failed := members(raw, func(key string, one []byte) error {
			out, err = deep(out, name+"%5B"+escape(key)+"%5D", one, esc, depth+1)
			return err
		})
		return out, failed
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		for _, one := range list {
			if out, err = deep(out, name, one, esc, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	text, err := plainText(raw)
	return append(out, pair{name, esc(text)}), err
}

func query(pairs []pair) string {
	list := make([]string, len(pairs))
	for i, p := range pairs {
		list[i] = p.name + "=" + p.value
	}
	return strings.Join(list, "&")
}

// escape escapes everything but letters, digits and "-_.~" (RFC 3986).
func escape(s string) string { return escapeBut(s, "-_.~") }

// escapeReserved keeps reserved characters, except those that would end the value or mean something else in a query.
func escapeReserved(s string) string { return escapeBut(s, "-_.~:/?@!$'()*,;[]=") }

func escapeBut(s, kept string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(kept, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// undot escapes the dots of a path's segment that would mean this folder or the one above.
func undot(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if s == "." || s == ".." {
			segments[i] = strings.ReplaceAll(s, ".", "%2E")
		}
	}
	return strings.Join(segments, "/")
}

// printable reports whether a text may stand in a header.
func printable(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f })
}
