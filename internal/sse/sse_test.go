package sse_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/internal/sse"
)

// got is an event with data of its own.
type got struct {
	id    string
	fresh bool
	name  string
	data  string
}

func readAll(r *sse.Reader) (events []got, err error) {
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, got{e.ID, e.Fresh, e.Name, string(e.Data)})
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream string
		want         []got
		last         string
		retry        time.Duration
	}{
		{name: "nothing"},
		{name: "data alone", stream: "data: hi\n\n", want: []got{{"", false, "message", "hi"}}},
		{
			name: "all fields", stream: "id: 7\nevent: text\ndata: hi\n\n",
			want: []got{{"7", true, "text", "hi"}}, last: "7",
		},
		{name: "two lines of data", stream: "data: a\ndata: b\n\n", want: []got{{"", false, "message", "a\nb"}}},
		{name: "no space, two spaces", stream: "data:a\ndata:  b\n\n", want: []got{{"", false, "message", "a\n b"}}},
		{name: "empty data", stream: "data\n\ndata:\ndata\n\n", want: []got{{"", false, "message", ""}, {"", false, "message", "\n"}}},
		{name: "CR", stream: "event: a\rdata: b\r\r", want: []got{{"", false, "a", "b"}}},
		{name: "CRLF", stream: "event: a\r\ndata: b\r\n\r\n", want: []got{{"", false, "a", "b"}}},
		{
			name: "a mixture", stream: "data: a\r\r\ndata: b\n\rdata: c\r\n\n",
			want: []got{{"", false, "message", "a"}, {"", false, "message", "b"}, {"", false, "message", "c"}},
		},
		{name: "a BOM", stream: "\xEF\xBB\xBFdata: a\n\n", want: []got{{"", false, "message", "a"}}},
		{name: "a BOM in the middle", stream: "\n\xEF\xBB\xBFdata: a\n\ndata: b\n\n", want: []got{{"", false, "message", "b"}}},
		{name: "comments", stream: ": a\n:\n\n:b\ndata: c\n:d\n\n", want: []got{{"", false, "message", "c"}}},
		{name: "unknown fields", stream: "Data: a\nx\ny: z\ndata : b\ndata: c\n\n", want: []got{{"", false, "message", "c"}}},
		{
			name: "an id stays", stream: "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
			want: []got{{"1", true, "message", "a"}, {"1", false, "message", "b"}, {"", true, "message", "c"}},
		},
		{
			name: "an id without data", stream: "id: 1\nevent: lost\n\ndata: b\n\n",
			want: []got{{"1", false, "message", "b"}}, last: "1",
		},
		{name: "an id with NUL", stream: "id: 1\nid: 2\x00\ndata: b\n\n", want: []got{{"1", true, "message", "b"}}, last: "1"},
		{name: "not closed", stream: "id: 1\ndata: a\n\nid: 2\ndata: b\n", want: []got{{"1", true, "message", "a"}}, last: "1"},
		{name: "cut in a line", stream: "data: a\n\ndata: b", want: []got{{"", false, "message", "a"}}},
		{name: "retry", stream: "retry: 250\n\nretry: 1.5\nretry: -3\nretry: +4\nretry\nretry: 1_0\n\n", retry: 250 * time.Millisecond},
		{name: "bytes that are no UTF-8", stream: "data: \xff\n\n", want: []got{{"", false, "message", "\xff"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, from := range []io.Reader{
				strings.NewReader(c.stream),
				iotest.OneByteReader(strings.NewReader(c.stream)),
				iotest.DataErrReader(strings.NewReader(c.stream)),
			} {
				r := sse.NewReader(from, sse.Limits{})
				events, err := readAll(r)
				if !errors.Is(err, io.EOF) || !slices.Equal(events, c.want) || r.LastID() != c.last {
					t.Errorf("got %+v, last id %q, error %v", events, r.LastID(), err)
				}
				if wait, ok := r.Retry(); wait != c.retry || ok != (c.retry > 0) {
					t.Errorf("the other side asked to wait %v (%v)", wait, ok)
				}
				if _, err := r.Next(); !errors.Is(err, io.EOF) {
					t.Errorf("after the end: %v", err)
				}
			}
		})
	}
}

// The end of a line that is a CR alone is there as soon as the CR is: nobody
// waits for what may come after it.
func TestReaderDoesNotWaitAfterCR(t *testing.T) {
	t.Parallel()
	from, to := io.Pipe()
	go func() { _, _ = to.Write([]byte("data: a\r\r")) }()
	e, err := sse.NewReader(from, sse.Limits{}).Next()
	if err != nil || string(e.Data) != "a" {
		t.Errorf("got %q, %v", e.Data, err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream, want string
		events             int
	}{
		{"a line as long as it may be", "data:12345\n\n", "", 1},
		{"a line that is too long", "data: a\n\ndata:123456\n\n", "line", 1},
		{"a line without an end", "data: a\n\n" + strings.Repeat("x", 1000), "line", 1},
		{"a comment", ":" + strings.Repeat("x", 10) + "\n\n", "line", 0},
		{"an event as long as it may be", "data:1234\ndata:5678\n\n", "", 1},
		{"an event that is too long", "data:12345\ndata:6789\ndata\n\ndata: a\n\n", "event", 0},
		{"many lines", strings.Repeat("data\n", 1000), "event", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, from := range []io.Reader{
				strings.NewReader(c.stream),
				iotest.OneByteReader(strings.NewReader(c.stream)),
				iotest.DataErrReader(strings.NewReader(c.stream)),
			} {
				r := sse.NewReader(from, sse.Limits{Line: 10, Event: 9})
				events, err := readAll(r)
				var large *sse.TooLargeError
				if c.want == "" && !errors.Is(err, io.EOF) || c.want != "" && (!errors.As(err, &large) || large.What != c.want) ||
					len(events) != c.events {
					t.Errorf("got %+v, %v", events, err)
				}
				if _, again := r.Next(); !errors.Is(again, err) {
					t.Errorf("the error does not stick: %v, then %v", err, again)
				}
			}
		})
	}
}

// What is written is read, whatever it holds.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching("[ab:\r\n \x00]{0,8}"))
		var stream []byte
		var want []got
		last := ""
		for range rapid.IntRange(0, 4).Draw(t, "events") {
			id, name, data := text.Draw(t, "id"), text.Draw(t, "name"), text.Draw(t, "data")
			stream = sse.AppendComment(stream, text.Draw(t, "comment"))
			stream = sse.AppendEvent(stream, id, name, []byte(data))
			stream = sse.AppendRetry(stream, time.Second)
			g := got{fresh: id != "", name: strings.NewReplacer("\r", "", "\n", "").Replace(name)}
			if g.fresh {
				last = strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(id)
			}
			g.id, g.data = last, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data)
			if g.name == "" {
				g.name = "message"
			}
			want = append(want, g)
		}
		events, err := readAll(sse.NewReader(bytes.NewReader(stream), sse.Limits{}))
		if !errors.Is(err, io.EOF) || !slices.Equal(events, want) {
			t.Fatalf("wrote %q\nread  %+v (%v)\nwant  %+v", stream, events, err, want)
		}
	})
}

// chunks gives bytes in pieces whose lengths a list of bytes decides.
type chunks struct{ data, sizes []byte }

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := len(c.data)
	if len(c.sizes) > 0 {
		n = min(n, max(int(c.sizes[0]), len(c.sizes)%2)) // nothing at times, but not for long
		c.sizes = c.sizes[1:]
	}
	n = copy(p, c.data[:n])
	c.data = c.data[n:]
	return n, nil
}

// Any bytes can be read, and however they are cut, the same comes of them.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\xEF\xBB\xBFid: 1\r\nevent: a\rdata: \xe3\x81\x82\n\n: b\nretry: 5\n\n"), []byte{1, 0, 2, 20})
	f.Add([]byte("data\n\nid\r\r\ndata: x\ndata: y\n\r\n"), []byte{3})
	f.Add(bytes.Repeat([]byte("data: 0123456789\n"), 20), []byte{100, 100})
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		limits := sse.Limits{Line: 30, Event: 60}
		r := sse.NewReader(bytes.NewReader(stream), limits)
		want, wantErr := readAll(r)
		for _, from := range []io.Reader{
			&chunks{stream, sizes}, iotest.OneByteReader(bytes.NewReader(stream)), iotest.DataErrReader(bytes.NewReader(stream)),
		} {
			o := sse.NewReader(from, limits)
			events, err := readAll(o)
			if !slices.Equal(events, want) || err.Error() != wantErr.Error() || o.LastID() != r.LastID() {
				t.Fatalf("%q\nwhole %+v, %v, %q\ncut   %+v, %v, %q", stream, want, wantErr, r.LastID(), events, err, o.LastID())
			}
		}
		var again []byte
		for _, e := range want {
			if strings.ContainsAny(e.id, "\r\n\x00") || strings.ContainsAny(e.name+e.data, "\r") || len(e.data) > 60 || len(e.name) > 30 {
				t.Fatalf("%q gives %+v", stream, e)
			}
			again = sse.AppendEvent(again, e.id, e.name, []byte(e.data))
		}
		back, err := readAll(sse.NewReader(bytes.NewReader(again), sse.Limits{}))
		if !errors.Is(err, io.EOF) || len(back) != len(want) {
			t.Fatalf("%q gives %+v, written again %+v (%v)", stream, want, back, err)
		}
		for i := range back {
			if back[i].name != want[i].name || back[i].data != want[i].data {
				t.Fatalf("%q gives %+v, written again %+v", stream, want[i], back[i])
			}
		}
	})
}

// Writing allocates nothing beside what it writes to, and reading little.
//
//nolint:paralleltest // allocations are counted for the whole process
func TestAllocations(t *testing.T) {
	data := []byte(`{"text":"hello"}`)
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { dst = sse.AppendEvent(dst[:0], "7:1.42", "text_delta", data) }); n > 0 {
		t.Errorf("writing allocates %v times", n)
	}
	r := sse.NewReader(&endless{frame: dst}, sse.Limits{})
	n := testing.AllocsPerRun(1000, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	})
	if n > 2 { // the name, and an id that is new
		t.Errorf("reading allocates %v times", n)
	}
}

type endless struct {
	frame []byte
	at    int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.frame[e.at:])
	e.at = (e.at + n) % len(e.frame)
	return n, nil
}
