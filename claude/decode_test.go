package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

// The quick look at a line finds what a decoder finds, in every recorded line.
func TestKindOf(t *testing.T) {
	t.Parallel()
	lines := recordedLines(t)
	for _, odd := range []string{
		`{"a":{"type":"x"},"type":"user"}`, `{"type" : "system" , "subtype":"init"}`, `{"x":"\"type\":\"y\"","type":"result"}`,
		`{"x":"\\","type":"result"}`, `{"type":7}`, `{"subtype":null,"type":"a"}`, `{}`,
	} {
		lines = append(lines, []byte(odd))
	}
	for _, line := range lines {
		var want struct {
			Type    any `json:"type"`
			Subtype any `json:"subtype"`
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		kind, sub := kindOf(line)
		a, _ := want.Type.(string)
		b, _ := want.Subtype.(string)
		if kind != a || sub != b {
			t.Errorf("%q, %q of %.200s", kind, sub, line)
		}
	}
}

// Every recorded line has a type of its own here.
func TestNoRecordedLineIsUnknown(t *testing.T) {
	t.Parallel()
	for _, line := range recordedLines(t) {
		if kind, _ := kindOf(line); kind == "control_request" || kind == "control_response" {
			continue
		}
		m, err := Decode(line)
		if _, unknown := m.(*Unknown); err != nil || unknown {
			t.Errorf("%v for %.200s", err, line)
		}
	}
}

func TestDecodeOddLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"type":"later","x":1}`:                                "*Unknown",
		`{"type":"system","subtype":"later"}`:                   "*Unknown",
		`{"type":"assistant","message":7,"uuid":"u"}`:           "*Assistant",
		`{"type":"user","message":{"content":{"a":1}}}`:         "*User",
		`{"type":"result","usage":[],"subtype":"success"}`:      "*Result",
		`{"type":"assistant","message":{"content":[7,"x",{}]}}`: "*Assistant",
		`[]`: "error", `7`: "error", `null`: "error", `{`: "error", ``: "error", `{"type":"assistant"`: "error", `{"type":"user"}}`: "error",
		"\xff\xfe": "error", `{"type":""}`: "error", `{"a":"type`: "error", `"type`: "error",
	} {
		m, err := Decode([]byte(line))
		got := "error"
		if err == nil {
			got = "*" + describe(m)[:len(want)-1]
		}
		if _, is := errors.AsType[*LineError](err); got != want || err != nil && !is {
			t.Errorf("%s: %s, %v", line, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range recordedLines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Decode(bytes.Clone(line))
		if err == nil && !json.Valid(bytes.TrimSpace(line)) {
			t.Errorf("%T of a line that is no JSON", m)
		}
		if err == nil && m.Base().Type == "" {
			t.Error("a message without a type")
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	lines := recordedLines(b)
	var size int64
	for i := range 20_000 {
		size += int64(len(lines[i%len(lines)]))
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for i := range 20_000 {
			if _, err := Decode(lines[i%len(lines)]); err != nil {
				b.Fatal(err)
			}
		}
	}
}
