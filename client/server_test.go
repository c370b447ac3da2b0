package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/tool"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/client"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/wire/native"
)

// counter counts aloud, after it has used the tool that it was told to use.
type counter struct{}

func (counter) Info() model.Info { return model.Info{Name: "test:counter", Simulated: true} }

func (counter) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		if tool, ok := strings.CutPrefix(last.Text(), "use "); ok {
			_ = yield(model.Chunk{Kind: model.ChunkText, Text: "Let me see. "}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCall, ID: "call-" + req.Run, Text: tool}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCallInput, Text: "{}"}, nil) &&
				yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		if last.Text() == "fail" {
			yield(model.Chunk{}, &event.Error{Kind: event.ErrModelAuth, Message: "the key is wrong"})
			return
		}
		for i := 0; i < 40 || last.Text() == "for ever"; i++ {
			if !yield(model.Chunk{Kind: model.ChunkText, Text: strconv.Itoa(i) + "つ "}, nil) {
				return
			}
			select {
			case <-ctx.Done():
				yield(model.Chunk{}, ctx.Err())
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
		yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// site is a server of the real kind.
func site(t *testing.T) *httptest.Server { t.Helper(); return siteOf(t, counter{}) }

func siteOf(t *testing.T, model braid.Model) *httptest.Server {
	t.Helper()
	svc, err := service.New(service.Options{
		Journal: &journal.Memory{}, Rows: &service.MemoryRows{},
		Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) {
			return braid.New("counter", model,
				braid.Func("clock", "", func(context.Context, struct{}) (string, error) { return "noon", nil }, tool.Pure()),
				braid.Func("ask", "", func(ctx context.Context, _ struct{}) (string, error) { return braid.Ask[string](ctx, "Who?") }),
			), nil
		},
		Models:   func(context.Context) []service.Model { return []service.Model{{Name: "test:counter", Simulated: true}} },
		LockWait: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	handler, err := server.New(server.Options{Service: svc, Token: secret.New(token), Tenant: "default"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(func() {
		if err := svc.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s
}

// scissors cut what streams bring after some bytes.
type scissors struct {
	http.RoundTripper

	most int
}

func (s *scissors) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.RoundTripper.RoundTrip(r)
	if err == nil && res.Header.Get("Content-Type") == "text/event-stream" {
		res.Body = &paper{res.Body, rand.IntN(s.most)}
	}
	return res, err
}

type paper struct {
	io.ReadCloser

	left int
}

func (p *paper) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, errors.New("connection reset")
	}
	n, err := p.ReadCloser.Read(b[:min(len(b), p.left)])
	p.left -= n
	return n, err
}

func dial(t *testing.T, s *httptest.Server, transport http.RoundTripper, o client.Options) *client.Client {
	t.Helper()
	o.HTTP, o.Wait = &http.Client{Transport: transport}, time.Millisecond
	c, err := client.New(s.URL, secret.New(token), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Runs on a real server, read over connections that never last: each comes to what one
// that is read in peace does.
func TestAgainstAServerThatIsHardToReach(t *testing.T) {
	t.Parallel()
	s := site(t)
	torn := dial(t, s, &scissors{s.Client().Transport, 2500}, client.Options{Tries: 50})
	calm := dial(t, s, s.Client().Transport, client.Options{})
	for i := range 12 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			conv, err := torn.Create(t.Context(), client.NewConversation{})
			if err != nil {
				t.Fatal(err)
			}
			input := []string{"count", "use clock"}[i%2]
			got, gotScreen, err := shown(torn.Stream(t.Context(), conv.ID, input, client.RunOptions{}))
			if err != nil {
				t.Fatal(err)
			}
			runs, err := calm.Runs(t.Context(), conv.ID)
			if err != nil || len(runs) != 1 || !runs[0].Status.Ended() {
				t.Fatalf("%+v, %v", runs, err)
			}
			want, wantScreen, err := shown(calm.Attach(t.Context(), conv.ID, runs[0].ID, "", client.FollowOptions{}))
			if err != nil {
				t.Fatal(err)
			}
			got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "title ") })
			if diff := cmp.Diff(want, got) + cmp.Diff(wantScreen, gotScreen); diff != "" || !strings.Contains(gotScreen, "39つ") {
				t.Error(diff, gotScreen)
			}
		})
	}
}

// beginnings cuts the first connections before a frame has come.
type beginnings struct {
	http.RoundTripper

	cuts  atomic.Int64
	posts atomic.Int64
}

func (b *beginnings) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err == nil && res.Header.Get("Content-Type") == "text/event-stream" && b.cuts.Add(-1) >= 0 {
		res.Body = &paper{res.Body, 20}
	}
	if r.Method == http.MethodPost {
		b.posts.Add(1)
	}
	return res, err
}

// A reader whose connections break before a frame has come is given the whole stream all the same: the run
// from its beginning, with deltas that add up, although the run has gone on meanwhile.
func TestNothingIsMissingWhereNothingHadCome(t *testing.T) {
	t.Parallel()
	s := site(t)
	for i, input := range []string{"count", "use clock", "count", "use clock"} {
		cuts := int64(1 + 3*i)
		b := &beginnings{RoundTripper: s.Client().Transport}
		c := dial(t, s, b, client.Options{Tries: 50})
		conv, err := c.Create(t.Context(), client.NewConversation{})
		if err != nil {
			t.Fatal(err)
		}
		b.cuts.Store(cuts)
		b.posts.Store(0)
		text, messages := map[string]string{}, 0
		first := ""
		for f, err := range c.Stream(t.Context(), conv.ID, input, client.RunOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = f.FrameName()
			}
			switch f := f.(type) {
			case *native.TextDelta:
				text[f.Step] += f.Text
			case *native.Snapshot:
				t.Errorf("%d cuts: a snapshot: %+v", cuts, f)
			case *native.Message:
				if messages++; text[f.Step] != f.Text {
					t.Errorf("%d cuts: the deltas of %s are %q, want %q", cuts, f.Step, text[f.Step], f.Text)
				}
			}
		}
		if first != "init" || messages == 0 || b.posts.Load() != cuts+1 {
			t.Errorf("%d cuts: the first frame is %s, there are %d messages and %d requests", cuts, first, messages, b.posts.Load())
		}
		runs, err := c.Runs(t.Context(), conv.ID)
		if err != nil || len(runs) != 1 {
			t.Errorf("%d cuts: %d runs, %v", cuts, len(runs), err)
		}
	}
}

// Everything that a client does, against the real server.
func TestAgainstAServer(t *testing.T) {
	t.Parallel()
	s := site(t)
	c := dial(t, s, s.Client().Transport, client.Options{})
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	is := func(err error, kind event.ErrorKind) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("got %v, want %s", err, kind)
		}
	}

	conv, err := c.Create(ctx, client.NewConversation{Metadata: map[string]string{"for": "ann"}})
	ok(err)
	r, err := c.Run(ctx, conv.ID, "count", client.RunOptions{Key: "k1"})
	ok(err)
	if !strings.HasSuffix(r.Result, "39つ ") || r.Turn != 1 || !r.Simulated {
		t.Errorf("got %+v", r)
	}
	again, err := c.Run(ctx, conv.ID, "count", client.RunOptions{Key: "k1"})
	ok(err)
	if again.RunID != r.RunID {
		t.Errorf("the same key gave run %s and then %s", r.RunID, again.RunID)
	}
	_, err = c.Run(ctx, conv.ID, "something else", client.RunOptions{Key: "k1"})
	is(err, event.ErrConflict)
	if e, _ := errors.AsType[*event.Error](err); e == nil || e.Code != native.CodeIdempotencyMismatch {
		t.Errorf("another body under the same key: %v", err)
	}

	asked := ""
	r, err = c.Run(ctx, conv.ID, "use ask", client.RunOptions{Ask: func(_ context.Context, q *native.Question) (any, error) {
		asked = q.Prompt
		return "ann", nil
	}})
	ok(err)
	if asked != "Who?" || r.Turn != 2 || r.Status != event.RunCompleted {
		t.Errorf("asked %q, got %+v", asked, r)
	}
	r, err = c.Run(ctx, conv.ID, "use ask", client.RunOptions{})
	ok(err)
	open, err := c.Questions(ctx, conv.ID)
	ok(err)
	if r.Status != event.RunWaiting || len(open) != 1 {
		t.Fatalf("a run that waits: %+v, %+v", r, open)
	}
	ok(c.Answer(ctx, conv.ID, open[0].QuestionID, "ann"))
	var place string
	frames := 0
	for _, err := range c.Attach(ctx, conv.ID, r.RunID, "", client.FollowOptions{Place: &place}) {
		ok(err)
		frames++
	}
	if n, err := errorOf(c.Attach(ctx, conv.ID, r.RunID, place, client.FollowOptions{})); n > 0 || err != nil || frames < 5 {
		t.Errorf("after the end, at %s of %d frames: %d more, %v", place, frames, n, err)
	}

	n, err := errorOf(c.Stream(ctx, conv.ID, "fail", client.RunOptions{}))
	is(err, event.ErrModelAuth)
	if n < 3 {
		t.Errorf("a run that fails has %d frames", n)
	}
	started, err := c.Start(ctx, conv.ID, "for ever", client.RunOptions{})
	ok(err)
	_, err = c.Start(ctx, conv.ID, "count", client.RunOptions{})
	is(err, event.ErrLocked)
	ok(c.Cancel(ctx, conv.ID, started.ID))
	r, err = c.Run(ctx, conv.ID, "count", client.RunOptions{Policy: "queue"})
	ok(err)
	run, err := c.GetRun(ctx, conv.ID, started.ID)
	ok(err)
	if run.Status != event.RunCancelled || run.Result == nil || run.Result.Error.Code != "CANCELLED" {
		t.Errorf("the cancelled run: %+v", run)
	}

	followed := 0
	for f, err := range c.Follow(ctx, conv.ID, "", client.FollowOptions{}) {
		ok(err)
		if native.Terminal(f) {
			if followed++; followed == r.Turn {
				break
			}
		}
	}
	last := int64(0)
	for e, err := range c.Events(ctx, conv.ID, 0) {
		ok(err)
		if last++; e.Seq != last {
			t.Fatalf("event %d comes after %d", e.Seq, last-1)
		}
	}
	var export strings.Builder
	ok(c.Export(ctx, conv.ID, &export))
	if lines := strings.Count(export.String(), "\n"); int64(lines) != last {
		t.Errorf("%d lines were exported of %d events", lines, last)
	}

	fork, err := c.Fork(ctx, conv.ID, 0)
	ok(err)
	title := "Counting"
	fork, err = c.Update(ctx, fork.ID, client.Changes{Title: &title})
	ok(err)
	if fork.ForkedFrom == nil || fork.ForkedFrom.Conversation != conv.ID || fork.Title != title {
		t.Errorf("the fork is %+v", fork)
	}
	conv, err = c.Reset(ctx, conv.ID)
	ok(err)
	names := ""
	for conv, err := range c.List(ctx, client.Filter{}) {
		ok(err)
		names += fmt.Sprintln(conv.ID, conv.Title)
	}
	if strings.Count(names, "\n") != 2 || !strings.Contains(names, fork.ID+" Counting") {
		t.Errorf("the list is\n%s", names)
	}
	for status, want := range map[string]string{"completed": conv.ID, "failed": ""} {
		found := ""
		for conv, err := range c.List(ctx, client.Filter{Status: status}) {
			ok(err)
			found += conv.ID
		}
		if found != want {
			t.Errorf("%s conversations are %q, want %q", status, found, want)
		}
	}
	models, err := c.Models(ctx)
	ok(err)
	if len(models) != 1 || !models[0].Available {
		t.Errorf("the models are %+v", models)
	}
	ok(c.Delete(ctx, conv.ID))
	_, err = c.Get(ctx, conv.ID)
	is(err, event.ErrNotFound)

	stranger, err := client.New(s.URL, secret.New("wrong"), client.Options{HTTP: s.Client()})
	ok(err)
	_, err = stranger.Get(ctx, fork.ID)
	is(err, event.ErrUnauthenticated)
}
