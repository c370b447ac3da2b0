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
	"[]int64":                    {"", "intsOpt", "%s", "r.ints()", "8 * len(%s)", "nil"},
	"[]Block":                    {"blocks", "blocksOpt", "%s", "r.blocks()", "sizeOfBlocks(%s)", "nil"},
	"*ToolResult":                {"", "resultOpt", "%s", "r.result()", "sizeOfResult(%s)", "nil"},
	"*int64":                     {"", "costOpt", "%s", "r.cost()", "", "nil"},
	"time.Time":                  {"", "timeOpt", "%s", "r.time()", "", "time.Time{}"},
	"time.Duration":              {"int", "intOpt", "int64(%s)", "r.duration()", "", "0"},
	"json.RawMessage":            {"raw", "rawOpt", "%s", "r.raw()", "len(%s)", "nil"},
	"map[string]string":          {"", "labelsOpt", "%s", "r.labels()", "sizeOfMap(%s)", "nil"},
	"map[string]json.RawMessage": {"", "valuesOpt", "%s", "r.values()", "sizeOfMap(%s)", "nil"},
}

// wordForm is that of a named string: one of a few words.
func wordForm(typ string) form {
	return form{"str", "strOpt", "string(%s)", typ + "(r.word())", "", `""`}
}

// hides lists what a redaction may do to a field of a type: the expression that takes its place, where
// %s is the field. "drop" works for every type except structs, and "keep" for all.
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

// Put is the encoder's method for the field; "" where there is none.
func (f field) Put() string {
	if f.Opt {
		return f.form.opt
	}
	return f.form.always
}

// Value is what that method is given.
func (f field) Value() string { return f.in(f.form.value) }

// Read is the decoder's expression for the field.
func (f field) Read() string { return f.form.read }

// Size is how much memory the field takes beside its struct.
func (f field) Size() string { return f.in(f.form.size) }

// Instead is what takes the field's place where its body is redacted; "" where there is no way.
func (f field) Instead() string {
	switch {
	case f.redacted == "drop" && (f.IsList() || f.IsPointer()):
		return "nil"
	case f.redacted == "drop":
		return f.form.zero
	}
	return f.in(hides[[2]string{f.redacted, f.typ}])
}

// in puts the field in an expression.
func (f field) in(expression string) string { return strings.ReplaceAll(expression, "%s", "b."+f.Name) }
