package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const eventFolder = "../../../event"

// The generated file is what the declarations of package event give.
func TestGeneratedFileIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := generate(eventFolder)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(eventFolder, output))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("event/json_gen.go is not what the structs say; run: go generate ./event")
	}
}

// What the generator cannot write is an error that names the field.
func TestDeclarationsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, want string }{
		{"", "no bodies"},
		{"//event:body\ntype A struct {}", `"//event:body": want a kind`},
		{"//event:body a durable\ntype A struct {}", `unknown word "durable"`},
		{"//event:body a\ntype A struct { B float64 `json:\"b\"` }", "A.B: no form for type float64"},
		{"//event:body a\ntype A struct { B bool `json:\"b\"` }", "A.B: no encoder for type bool, with or without omitempty"},
		{"//event:body a\ntype A struct { B, C int `json:\"b\"` }", `A.C: needs a line and a tag json:"…" of its own`},
		{"//event:body a\ntype A struct { B int }", `A.B: needs a line and a tag json:"…" of its own`},
		{"//event:body a\ntype A struct { B }\ntype B struct { C int `json:\"c\"` }", `A.B: needs a line and a tag json:"…" of its own`},
		{"//event:body a\ntype A struct { B []Block `json:\"b\"` }", "A.B: needs a tag redacted"},
		{"//event:body a\ntype A struct { B int `json:\"b\" redacted:\"shown\"` }", `A.B: no way to redact type int with "shown"`},
		{"//event:body a\ntype A struct { B *C `json:\"b,omitempty\"` }\ntype C struct { D complex64 `json:\"d\"` }", "C.D: no form for type complex64"},
		{"//event:body a live\ntype A struct { B []Block `json:\"b\"` }", ""},
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "body.go"), []byte("package event\n\n"+c.source+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := generate(folder)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s\ngives %v, want %q", c.source, err, c.want)
		}
	}
}
