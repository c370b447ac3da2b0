package sandbox

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestOutputKeepsBothEnds of anything that is written in any pieces.
func TestOutputKeepsBothEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 40).Draw(t, "most")
		o := newOutput(most)
		var all []byte
		for _, piece := range rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 60), 0, 12).Draw(t, "pieces") {
			n, err := o.Write(piece)
			if n != len(piece) || err != nil {
				t.Fatalf("wrote %d of %d, %v", n, len(piece), err)
			}
			all = append(all, piece...)
		}
		got, omitted := o.bytes()
		if len(all) <= most {
			if !bytes.Equal(got, all) || omitted != 0 {
				t.Fatalf("kept %q of %q", got, all)
			}
			return
		}
		note := fmt.Sprintf("\n(%d bytes of output are left out here)\n", omitted)
		head, end, found := strings.Cut(string(got), note)
		if !found || int64(len(head)+len(end))+omitted != int64(len(all)) || len(head)+len(end) > most {
			t.Fatalf("kept %q with %d omitted of %q, at most %d", got, omitted, all, most)
		}
		if !bytes.HasPrefix(all, []byte(head)) || !bytes.HasSuffix(all, []byte(end)) {
			t.Fatalf("kept %q and %q of %q", head, end, all)
		}
	})
}

func TestOutputCutsNoCharacter(t *testing.T) {
	t.Parallel()
	for most := 1; most < 40; most++ {
		o := newOutput(most)
		_, _ = o.Write([]byte(strings.Repeat("日本語é", 100)))
		if got, _ := o.bytes(); !utf8.Valid(got) {
			t.Errorf("with %d bytes: %q", most, got)
		}
	}
}
