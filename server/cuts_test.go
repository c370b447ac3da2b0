package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidrun/braid/internal/race"
	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/wire/native"
)

// cut is a connection that breaks after a number of bytes.
type cut struct {
	header http.Header
	status int
	left   int
	got    bytes.Buffer
	gone   context.CancelFunc
}

var errBroken = errors.New("the connection broke")

func (c *cut) Header() http.Header { return c.header }
func (c *cut) WriteHeader(n int)   { c.status = n }
func (c *cut) FlushError() error   { return nil }

func (c *cut) Write(b []byte) (int, error) {
	if len(b) < c.left {
		c.left -= len(b)
		return c.got.Write(b)
	}
	n, _ := c.got.Write(b[:c.left])
	c.left = 0
	c.gone()
	return n, errBroken
}

// reader follows a run over any number of connections: it holds frames until an id
// has come, and goes on behind the last one that has.
type reader struct {
	handler http.Handler
	path    string
	// post is the body of a POST that is repeated under the key; empty for a GET. anew has each
	// repetition begin at the beginning instead of behind the last frame.
	post, key string
	anew      bool
	last      string
	screen    native.Screen
	// deltas is what a client shows that knows deltas alone, by step and attempt; cut are those that
	// had begun when the connection did.
	deltas map[string]string
	cut    map[string]bool
	// durable are the ids of the events that it was given, and ends counts terminal frames.
	durable []string
	ends    int
}

// connect reads until the connection breaks or the stream ends.
func (r *reader) connect(t *testing.T, after int, hold time.Duration) {
	ctx, gone := context.WithCancel(t.Context())
	defer gone()
	if hold > 0 {
		timer := time.AfterFunc(hold, gone)
		defer timer.Stop()
	}
	if r.anew {
		r.last, r.screen, r.durable, r.ends, r.deltas = "", native.Screen{}, nil, 0, nil
	}
	method, body := "GET", io.Reader(http.NoBody)
	if r.post != "" {
		method, body = "POST", strings.NewReader(r.post)
	}
	req := httptest.NewRequestWithContext(ctx, method, "http://localhost"+r.path, body)
	req.Header.Set("Authorization", "Bearer "+token)
	if r.post != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", r.key)
	}
	if r.last != "" {
		req.Header.Set("Last-Event-ID", r.last)
	}
	r.cut = map[string]bool{}
	for at := range r.deltas {
		r.cut[at] = true
	}
	c := &cut{header: http.Header{}, left: after, gone: gone}
	r.handler.ServeHTTP(c, req)
	if c.status == 499 && ctx.Err() != nil {
		return // it was gone before there was an answer
	}
	if c.status != 200 {
		t.Fatalf("%d: %s", c.status, c.got.String())
	}
	frames := sse.NewReader(&c.got, sse.Limits{})
	var held []native.Frame
	for {
		e, err := frames.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := native.Decode(e.Name, e.Data)
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			held = append(held, f)
		}
		if !e.Fresh {
			continue
		}
		r.last = e.ID
		// A snapshot before a step's first piece stands at the step's beginning, which has no frame
		// of its own: it says where the reader is, and is no event.
		if _, snapshot := f.(*native.Snapshot); !strings.Contains(e.ID, ":") && !snapshot {
			r.durable = append(r.durable, e.ID)
		}
		for _, f := range held {
			r.screen.Apply(f)
			r.add(t, f)
			if native.Terminal(f) {
				r.ends++
			}
		}
		held = held[:0]
	}
}

// add holds the deltas of a POST's stream against the messages: they add up to them, unless the connection
// began in the middle of the answer.
func (r *reader) add(t *testing.T, f native.Frame) {
	if r.deltas == nil {
		r.deltas = map[string]string{}
	}
	at := func(p native.Place) string { return fmt.Sprint(p.Step, " ", p.Attempt) }
	switch f := f.(type) {
	case *native.TextDelta:
		r.deltas[at(f.Place)] += f.Text
	case *native.Snapshot:
		if r.post != "" && !r.cut[at(f.Place)] {
			t.Errorf("a stream that began at the beginning has a snapshot: %+v", f)
		}
		r.deltas[at(f.Place)] = f.Text
	case *native.Message:
		if got := r.deltas[at(f.Place)]; r.post != "" && got != f.Text && !r.cut[at(f.Place)] {
			t.Errorf("the deltas of %s add up to %q, want %q", at(f.Place), got, f.Text)
		}
	}
}

// shown is what the reader has in the end.
func (r *reader) shown() string {
	var b strings.Builder
	for _, a := range r.screen.Answers {
		fmt.Fprintf(&b, "%s: %q void %v\n", a.Step, a.Text(), a.Void)
	}
	for _, c := range r.screen.Calls {
		if c.Result != nil {
			fmt.Fprintf(&b, "call %s: %q\n", c.Result.ToolName, c.Result.Content)
		}
	}
	if end, ok := r.screen.End.(*native.Result); ok {
		fmt.Fprintf(&b, "end: %q", end.Result)
	}
	return b.String()
}

func checkReader(t *testing.T, r *reader, want *reader) {
	t.Helper()
	if r.shown() != want.shown() {
		t.Fatalf("it ends with\n%s\nwant\n%s", r.shown(), want.shown())
	}
	if !slices.Equal(r.durable, want.durable) || r.ends != 1 {
		t.Fatalf("it was given %v and %d ends, want %v", r.durable, r.ends, want.durable)
	}
}

// A finished run, cut at random bytes: every reader ends with the same text and the same events,
// each once. BRAID_CUTS is how many there are; make test-long makes a hundred thousand.
func TestRandomCuts(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	conv := s.conversation()
	var runs []string
	for _, input := range []string{"こんにちは、世界 🌏 で話しましょう", "use clock", "use ask"} {
		res := s.ask("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"`+input+`"}`)
		runs = append(runs, res.Header.Get("X-Run-Id"))
		frames(t, res.Body, func(f frame) bool {
			if f.name == "question" {
				s.json(200, "POST", "/v1/conversations/"+conv+"/questions/"+f.data["question_id"].(string), `{"answer":true}`)
			}
			return false
		})
	}
	cuts := 5_000
	if race.On {
		cuts = 1_500
	}
	if n, err := strconv.Atoi(os.Getenv("BRAID_CUTS")); err == nil {
		cuts = n
	}
	const shards = 4
	var done atomic.Int64
	for shard := range shards {
		t.Run("shard", func(t *testing.T) {
			t.Parallel()
			pick := rand.New(rand.NewPCG(uint64(shard), 4))
			for done.Load() < int64(cuts) {
				path := "/v1/conversations/" + conv + "/runs/" + runs[pick.IntN(len(runs))] + "/stream"
				want := &reader{handler: s.Config.Handler, path: path}
				want.connect(t, 1<<30, 0)
				for range 50 {
					r := &reader{handler: s.Config.Handler, path: path}
					for r.ends == 0 {
						r.connect(t, 1+pick.IntN(1500), 0)
						done.Add(1)
					}
					checkReader(t, r, want)
				}
			}
		})
	}
}

// A run that goes on while its readers are cut off, in the middle of steps too.
func TestRandomCutsOfARunThatGoesOn(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	pick := rand.New(rand.NewPCG(7, 7))
	runs := 25
	if testing.Short() {
		runs = 10
	}
	for range runs {
		conv := s.conversation()
		res := s.json(202, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"もし もし slowly さ て あ と は お わ り 🌏 です"}`, "Prefer", "respond-async")
		path := res["stream"].(string)
		r := &reader{handler: s.Config.Handler, path: path}
		for r.ends == 0 {
			select {
			case s.gate <- struct{}{}:
			case <-time.After(time.Millisecond):
			}
			r.connect(t, 1+pick.IntN(2000), time.Duration(1+pick.IntN(3))*time.Millisecond)
		}
		whole := &reader{handler: s.Config.Handler, path: path}
		whole.connect(t, 1<<30, 0)
		checkReader(t, r, whole)
	}
}
