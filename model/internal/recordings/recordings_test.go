package recordings_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/braidrun/braid/model/internal/recordings"
)

func TestOf(t *testing.T) {
	t.Parallel()
	streams, next := 0, 0
	for _, e := range recordings.Of(t, 15, "TestBedrock*/*.yaml", "TestBedrock*/*/*.yaml") {
		if e.Status != 200 || e.Request == "" || e.Answer == "" || e.URL == "" || e.File == "" {
			t.Errorf("%s is not whole", e.File)
		}
		if e.Next != "" {
			next++
		}
		if e.Stream {
			streams++
			if n := len(recordings.Borders(e.Answer)); n < 5 {
				t.Errorf("%s has %d borders", e.File, n)
			}
		}
	}
	if streams < 7 || next < 3 {
		t.Errorf("%d streams, %d conversations go on", streams, next)
	}
}

func TestBorders(t *testing.T) {
	t.Parallel()
	frame := func(n byte) string { return string(append([]byte{0, 0, 0, n}, make([]byte, n-4)...)) }
	for body, want := range map[string][]int{
		"":                                 nil,
		"data: a\n\ndata: b\n\n":           {9},
		"data: a\n\ndata: b\n\nda":         {9, 18},
		frame(16) + frame(20) + frame(16):  {16, 36},
		frame(16) + frame(20) + "\x00\x00": {16, 36},
		"\x00\x00\x00\x00\x00\x00\x00\x00": nil,
	} {
		if got := recordings.Borders(body); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", body, got, want)
		}
	}
}

func TestWays(t *testing.T) {
	t.Parallel()
	for how, r := range recordings.Ways("body") {
		if b, err := io.ReadAll(r); string(b) != "body" || err != nil {
			t.Errorf("%s: %q, %v", how, b, err)
		}
	}
}

func TestCuts(t *testing.T) {
	t.Parallel()
	if got := recordings.Cuts("data: a\n\nd"); len(got) != 10 || got[0] != 0 || got[9] != 9 {
		t.Errorf("a short one is cut at %v", got)
	}
	long := strings.Repeat("data: something\n\n", 1000)
	got := recordings.Cuts(long)
	for _, n := range recordings.Borders(long) {
		for _, want := range []int{n - 1, n, n + 1} {
			if !slices.Contains(got, want) {
				t.Fatalf("a long one is not cut at %d", want)
			}
		}
	}
	if slices.Max(got) >= len(long) || slices.Min(got) < 0 {
		t.Errorf("cut between %d and %d of %d", slices.Min(got), slices.Max(got), len(long))
	}
}
