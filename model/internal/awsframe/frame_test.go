package awsframe_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/model/internal/awsframe"
	"github.com/braidrun/braid/model/internal/recordings"
)

type said struct{ kind, name, payload string }

func readAll(in io.Reader) (out []said, err error) {
	r := awsframe.NewReader(in)
	for {
		f, err := r.Next()
		if err != nil {
			return out, err
		}
		out = append(out, said{string(f.Kind), string(f.Name), string(f.Payload)})
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want []said
		var b []byte
		for range rapid.IntRange(0, 5).Draw(t, "messages") {
			s := said{rapid.SampledFrom([]string{"event", "exception", "error"}).Draw(t, "kind"), rapid.String().Draw(t, "name"), rapid.String().Draw(t, "payload")}
			want = append(want, s)
			b = awsframe.Append(b, s.kind, s.name, []byte(s.payload))
		}
		for _, in := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b))} {
			got, err := readAll(in)
			if !errors.Is(err, io.EOF) || len(got) != len(want) {
				t.Fatalf("%q, %v, want %q", got, err, want)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%q, want %q", got, want)
				}
			}
		}
		if len(b) == 0 {
			return
		}
		n := rapid.IntRange(1, len(b)-1).Draw(t, "cut")
		got, err := readAll(bytes.NewReader(b[:n]))
		if len(got) >= len(want) || errors.Is(err, io.EOF) == errors.Is(err, awsframe.ErrCut) {
			t.Fatalf("cut at %d of %d: %q, %v", n, len(b), got, err)
		}
		b[rapid.IntRange(0, len(b)-1).Draw(t, "changed")] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		if _, err := readAll(bytes.NewReader(b)); errors.Is(err, io.EOF) {
			t.Fatalf("nobody saw that a message was changed")
		}
	})
}

// The reader reads what Bedrock sent: messages of the form that its own SDKs expect.
func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	for _, x := range recordings.Of(t, 15, "TestBedrock*/*.yaml", "TestBedrock*/*/*.yaml") {
		if !x.Stream {
			continue
		}
		got, err := readAll(strings.NewReader(x.Answer))
		if !errors.Is(err, io.EOF) || len(got) != len(recordings.Borders(x.Answer))+1 {
			t.Errorf("%s: %d messages, %v", x.File, len(got), err)
		}
		for _, s := range got {
			if s.kind != "event" || s.name != "chunk" || !strings.HasPrefix(s.payload, `{"bytes":"`) {
				t.Errorf("%s: %q", x.File, s)
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(awsframe.Append(nil, "event", "chunk", []byte(`{"bytes":"e30="}`)))
	f.Add([]byte("\x00\x00\x00\x10\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readAll(bytes.NewReader(b))
		again, err2 := readAll(iotest.OneByteReader(bytes.NewReader(b)))
		if err == nil || len(got) != len(again) || err.Error() != err2.Error() {
			t.Fatalf("%v, %v; %d and %d messages", err, err2, len(got), len(again))
		}
	})
}

func BenchmarkReader(b *testing.B) {
	var body []byte
	for range 500 {
		body = awsframe.Append(body, "event", "chunk", []byte(`{"bytes":"eyJ0eXBlIjoiY29udGVudF9ibG9ja19kZWx0YSIsImluZGV4IjowfQ==","p":"abcd"}`))
	}
	b.ReportAllocs()
	for range b.N {
		if _, err := drain(bytes.NewReader(body)); !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/message")
}

func drain(in io.Reader) (n int, err error) {
	r := awsframe.NewReader(in)
	for {
		f, err := r.Next()
		if err != nil {
			return n, err
		}
		n += len(f.Payload)
	}
}
