package main

import "strings"

// form is how a field of a type is written, read and weighed. %s is the field.
type form struct {
	// always and opt name the encoder's method for a field that is always written, and for one
	// that may be left out; "" where the package has none.
	always, opt string
	// value is what the method is given.
	value string
	// read is what the decoder's call gives.
	read string
	// size is how much memory the value takes beside the struct; "" for none.
	size string
	// zero is the zero value.
	zero string
}

// forms lists the types of fields. What else there may be are structs ([object]) and lists of them.
var forms = map[string]form{
	"string":                     {"str", "strOpt", "%s", "r.String()", "len(%s)", `""`},
	"int":                        {"int", "intOpt", "int64(%s)", "r.Int()", "", "0"},
	"int64":                      {"int", "intOpt", "%s", "r.Int64()", "", "0"},
	"bool":                       {"", "boolOpt", "%s", "r.Bool()", "", "false"},
	"[]byte":                     {"", "bytesOpt", "%s", "r.Base64()", "len(%s)", "nil"},
	"[]string":                   {"", "strsOpt", "%s", "r.strings()", "sizeOfStrings(%s)", "nil"},
	"[]string,omitzero":          {"", "strsZero", "%s", "r.stringsZero()", "sizeOfStrings(%s)", "nil"},
	"[]int64":                    {"", "intsOpt", "%s", "r.ints()", "8*len(%s)", "nil"},
	"[]Block":                    {"blocks", "blocksOpt", "%s", "r.blocks()", "sizeOfBlocks(%s)", "nil"},
	"*ToolResult":                {"", "resultOpt", "%s", "r.result()", "sizeOfResult(%s)", "nil"},
	"*int64":                     {"", "costOpt", "%s", "r.cost()", "", "nil"},
	"time.Time":                  {"", "timeOpt", "%s", "r.time()", "", "time.Time{}"},
	"time.Duration":              {"int", "intOpt", "int64(%s)", "r.duration()", "", "0"},
	"json.RawMessage":            {"raw", "rawOpt", "%s", "r.raw()", "len(%s)", "nil"},
	"map[string]string":          {"", "labelsOpt", "%s", "r.labels()", "sizeOfMap(%s)", "nil"},
	"map[string]json.RawMessage": {"", "valuesOpt", "%s", "r.values()", "sizeOfMap(%s)", "nil"},
}

// put is the encoder's method for a field; "" where there is none.
func (f form) put(to field) string {
	if to.opt {
		return f.opt
	}
	return f.always
}

// formOf gives the form of a type; a named string is one of a few words.
func (p *pkg) formOf(typ string) (form, bool) {
	if p.words[typ] {
		return form{"str", "strOpt", "string(%s)", typ + "(r.word())", "", `""`}, true
	}
	f, ok := forms[typ]
	return f, ok
}

// hides lists what a redaction may do to a field of a type: the expression that takes its place, where
// %s is the field. "drop" works for every form, and "keep" for every type.
var hides = map[[2]string]string{
	{"shown", "[]Block"}:                   "r.Shown()",
	{"shown", "string"}:                    "TextOf(r.Shown())",
	{"shown", "*ToolResult"}:               "r.shownResult(%s)",
	{"calls", "[]Block"}:                   "r.shownWithCalls(%s)",
	{"null", "json.RawMessage"}:            `[]byte("null")`,
	{"null", "map[string]json.RawMessage"}: "nulls(%s)",
	{"true", "bool"}:                       "true",
}

// mustSay lists the types whose fields must say what a redaction does to them.
var mustSay = map[string]bool{"[]Block": true, "*ToolResult": true, "json.RawMessage": true, "map[string]json.RawMessage": true}

// instead is what takes a field's place where its body is redacted; "" where it stays. ok is false where
// there is nothing for such a type and tag.
func (p *pkg) instead(f field) (instead string, ok bool) {
	if f.redacted == "" || f.redacted == "keep" {
		return "", true
	}
	form, known := p.formOf(f.typ)
	switch {
	case f.redacted == "drop" && known:
		return form.zero, true
	case f.redacted == "drop" && strings.ContainsAny(f.typ[:1], "[*"):
		return "nil", true
	}
	instead, ok = hides[[2]string{f.redacted, f.typ}]
	return strings.ReplaceAll(instead, "%s", "b."+f.name), ok
}
