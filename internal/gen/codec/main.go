// Command codec writes event/json_gen.go: all that follows from the structs of package event and
// their tags. Run it with
//
//	go generate ./event
//
// A struct declares itself in a line of its comment:
//
//	//event:body <kind> [live] [final] [erased]
//	//event:block <kind>
//
// The words are the fields of event.BodyInfo. A field's "json" tag gives its key, and says whether a
// zero value is left out. Its "redacted" tag says what a redaction does to it:
//
//	shown  it becomes what stands in place of the content
//	calls  the same, with the tool calls of the content after it, without their arguments
//	null   its JSON becomes null
//	true   it becomes true
//	drop   it becomes zero
//	keep   it stays
//
// A field of a durable body that holds blocks or raw JSON must have one.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"os"
	"text/template"
)

// output is the file that the command writes, in the folder of package event.
const output = "json_gen.go"

func main() {
	code, err := generate(".")
	if err == nil {
		err = os.WriteFile(output, code, 0o644) //nolint:gosec // source code is for everybody
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "codec:", err)
		os.Exit(1)
	}
}

//go:embed json_gen.tmpl
var source string

// generate reads the package in the folder and gives the source of its generated file.
func generate(folder string) ([]byte, error) {
	p, err := read(folder)
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	t, err := template.New(output).Parse(source)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, p); err != nil {
		return nil, err
	}
	return format.Source(text.Bytes())
}
