package adk_test

import (
	"bytes"
	"testing"

	"github.com/braidrun/braid/wire/adk"
)

// Whatever is read is written as JSON that reads as the same, in one line.
func FuzzDecode(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s.in))
	}
	for _, of := range fields {
		f.Add([]byte(of.json))
	}
	for _, of := range actions {
		f.Add([]byte(`{"actions":` + of.json + `}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := adk.Decode(data)
		if err != nil {
			return
		}
		e.Final()
		adk.Describe(&e)
		e.Text()
		if blocks, err := adk.Blocks(e.Content); err == nil {
			adk.Parts(blocks)
		}
		once := e.AppendJSON(nil)
		again, err := adk.Decode(once)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", data, once, err)
		}
		if twice := again.AppendJSON(nil); !bytes.Equal(once, twice) || bytes.ContainsAny(once, "\r\n") {
			t.Fatalf("%q is written as %q, and then as %q", data, once, twice)
		}
	})
}
