package agentfile

import (
	"encoding/json"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// fields reads the keys of a mapping, each once. end reports those that nothing has read.
type fields struct {
	l    *loader
	node *yaml.Node
	read map[string]bool
}

// fields returns the reader of a mapping.
func (l *loader) fields(n *yaml.Node) *fields {
	f := &fields{l: l, node: n, read: map[string]bool{}}
	if l.err != nil {
		return f
	}
	if n.Kind != yaml.MappingNode {
		l.fail(n, "write keys and values", "this is not a mapping")
		return f
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		switch key := n.Content[i]; {
		case key.Kind != yaml.ScalarNode:
			l.fail(key, "use a word", "a key is not a text")
		case seen[key.Value]:
			l.fail(key, "remove one of them", "the key %q is there twice", key.Value)
		default:
			seen[key.Value] = true
		}
	}
	return f
}

// get returns the value of a key; nil if it is not there or null.
func (f *fields) get(key string) *yaml.Node {
	f.read[key] = true
	if f.l.err != nil || f.node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(f.node.Content); i += 2 {
		if f.node.Content[i].Value == key {
			v := f.node.Content[i+1]
			if v.Kind == yaml.AliasNode {
				f.l.fail(v, "write the value out", "aliases are not supported")
				return nil
			}
			if v.Tag == "!!null" {
				return nil
			}
			return v
		}
	}
	return nil
}

// at is the place of a key's value, or of the mapping.
func (f *fields) at(key string) *yaml.Node {
	if v := f.get(key); v != nil {
		return v
	}
	return f.node
}

// text returns a text; empty if it is not there.
func (f *fields) text(key string) string {
	v := f.get(key)
	if v == nil {
		return ""
	}
	return f.l.scalar(v, key)
}

// scalar returns the text of a scalar.
func (l *loader) scalar(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode {
		l.fail(n, "write a text", "%s is not a text", what)
		return ""
	}
	return n.Value
}

// number returns a whole number that is not negative; 0 if it is not there.
func (f *fields) number(key string) int {
	v := f.get(key)
	if v == nil {
		return 0
	}
	n, err := strconv.Atoi(f.l.scalar(v, key))
	if f.l.err == nil && (err != nil || n < 0) {
		f.l.fail(v, "write a whole number", "%s is not a number of 0 or more", key)
	}
	return n
}

// yes returns a truth value; false if it is not there.
func (f *fields) yes(key string) bool {
	v := f.get(key)
	if v == nil {
		return false
	}
	if v.Kind != yaml.ScalarNode || v.Tag != "!!bool" {
		f.l.fail(v, "write true or false", "%s is neither true nor false", key)
		return false
	}
	var yes bool
	if err := v.Decode(&yes); err != nil {
		f.l.fail(v, "write true or false", "%s is neither true nor false", key)
	}
	return yes
}

// duration returns a time such as "30s"; 0 if it is not there.
func (f *fields) duration(key string) time.Duration {
	v := f.get(key)
	if v == nil {
		return 0
	}
	d, err := time.ParseDuration(f.l.scalar(v, key))
	if f.l.err == nil && (err != nil || d < 0) {
		f.l.fail(v, `write a time such as "30s" or "5m"`, "%s is not a time", key)
	}
	return d
}

// each calls a function for the elements of a list.
func (f *fields) each(key string, do func(*yaml.Node)) {
	v := f.get(key)
	if v == nil {
		return
	}
	if v.Kind != yaml.SequenceNode {
		f.l.fail(v, "write a list", "%s is not a list", key)
		return
	}
	for _, one := range v.Content {
		if f.l.err != nil {
			return
		}
		if one.Kind == yaml.AliasNode {
			f.l.fail(one, "write the value out", "aliases are not supported")
			return
		}
		do(one)
	}
}

// texts returns a list of texts.
func (f *fields) texts(key string) (list []string) {
	f.each(key, func(n *yaml.Node) { list = append(list, f.l.scalar(n, "an element of "+key)) })
	return list
}

// json returns a value as JSON; nil if it is not there.
func (f *fields) json(key string) json.RawMessage {
	v := f.get(key)
	if v == nil {
		return nil
	}
	f.l.plain(v)
	if f.l.err != nil {
		return nil
	}
	var value any
	err := v.Decode(&value)
	var raw json.RawMessage
	if err == nil {
		raw, err = json.Marshal(value)
	}
	if err != nil {
		f.l.fail(v, "use texts as keys, and values that JSON has", "%s cannot be written as JSON", key)
	}
	return raw
}

// plain refuses aliases in a value.
func (l *loader) plain(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		l.fail(n, "write the value out", "aliases are not supported")
		return
	}
	for _, one := range n.Content {
		l.plain(one)
	}
}

// end reports a key that nothing has read.
func (f *fields) end() {
	if f.l.err != nil || f.node.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(f.node.Content); i += 2 {
		if key := f.node.Content[i]; !f.read[key.Value] {
			f.l.fail(key, "correct or remove it", "there is no key %q here", key.Value)
			return
		}
	}
}
