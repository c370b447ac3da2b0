package agentcore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/braidrun/braid/wire/agentcore"
)

// Whatever comes: the reader comes to the end, what it gives can be used, and where the
// bytes are cut makes no difference.
func FuzzReader(f *testing.F) {
	f.Add([]byte(strings.Join(seedTurn(), "\n\n")))
	f.Add([]byte("[" + strings.TrimPrefix(seedWhole, "data: ") + ",\"data: {}\"]\n{\"a\":NaN}"))
	f.Add([]byte("event: error\r\ndata: {\"error\":\"\\ud800\"}\r\n\r\n<html>\ndata: x\ndata: 1\n"))
	f.Add([]byte(`{"tool_name":"a","type":"tool_use","debug_data":{"message":{"content":[{"toolUse":{"input":{"x":-Infinity}}}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(from io.Reader) (all []string) {
			r := agentcore.NewReader(from, 4096)
			for {
				it, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if it.Kind == "" || it.Number != len(all)+1 || !utf8.Valid(it.Text) {
					t.Fatalf("item %+v", it)
				}
				if len(it.Data) > 0 && !json.Valid(it.Data) {
					t.Fatalf("the data of %+v are no JSON", it)
				}
				all = append(all, show(it))
				if len(all) > 2*len(data)+2 {
					t.Fatal("more items than bytes")
				}
			}
			for i, u := range r.Tools() {
				if u.Index != i || len(u.Input) > 0 && !json.Valid(u.Input) {
					t.Fatalf("tool %+v", u)
				}
			}
			return all
		}
		whole, cut := read(bytes.NewReader(data)), read(iotest.OneByteReader(bytes.NewReader(data)))
		if len(data) < 4096 && strings.Join(whole, "\n") != strings.Join(cut, "\n") {
			t.Fatalf("at once\n%s\nby bytes\n%s", strings.Join(whole, "\n"), strings.Join(cut, "\n"))
		}
	})
}
