package agentcore_test

import (
	"bufio"
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/loopback"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/server/agentcore"
	"github.com/braidrun/braid/service"
	wire "github.com/braidrun/braid/wire/agentcore"
)

// flood is a model that says much: so many pieces, or without end.
type flood struct{ pieces int }

func (flood) Info() model.Info { return model.Info{Name: "test:flood"} }

func (m flood) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for i := 0; m.pieces == 0 || i < m.pieces; i++ {
			if ctx.Err() != nil {
				yield(model.Chunk{}, ctx.Err())
				return
			}
			if m.pieces == 0 && i > 50_000 {
				time.Sleep(time.Millisecond) // more would only fill the memory
			}
			if !yield(model.Chunk{Kind: model.ChunkText, Text: "piece 長 " + strings.Repeat("x", 100)}, nil) {
				return
			}
		}
		yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

func floods(pieces int) func(*service.Options, *agentcore.Options) {
	return func(s *service.Options, _ *agentcore.Options) {
		s.Agent = func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			return braid.New("guide", flood{pieces}, braid.Limit(r.Limits)), nil
		}
	}
}

// Who reads slowly is cut back to what there is, and still comes to the whole text by
// joining pieces.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pieces = 30_000
		s := open(t, floods(pieces))
		res, err := s.Client().Do(s.request(t.Context(), http.MethodPost, "/invocations", promptBody("hello")))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		s.ends(here, event.RunCompleted) // nobody waits for the reader
		var joined strings.Builder
		whole, deltas := "", 0
		r := wire.NewReader(bufio.NewReader(res.Body), 64<<20)
		for {
			it, err := r.Next()
			if err != nil {
				break
			}
			switch it.Kind {
			case wire.KindText:
				deltas++
				joined.Write(it.Text)
			case wire.KindMessage:
				whole = event.RawText(it.Content)
			}
		}
		if joined.String() != whole || strings.Count(whole, "長") != pieces || !r.Complete() {
			t.Errorf("joined %d bytes of %d; complete %v", joined.Len(), len(whole), r.Complete())
		}
		if deltas >= pieces {
			t.Errorf("%d deltas: nothing was cut, so this test shows nothing", deltas)
		}
	})
}

// Who hangs up is gone at once, also where the stream has no end, was not read, and nothing
// of it can be told any more.
func TestHangingUpOnAnEndlessStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, floods(0))
		conn, err := s.Listener.(*loopback.Listener).Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := s.request(t.Context(), http.MethodPost, "/invocations", promptBody("hello")).Write(conn); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond) // much has been said by then
		_ = conn.Close()
		s.ends(here, event.RunCancelled)
	})
}

// runsOf is how many runs the session has had.
func (s *site) runsOf(p service.Principal) int {
	conv, err := s.service.ConversationNamed(s.t.Context(), p, "agentcore session "+session)
	if err != nil {
		return 0
	}
	runs, _ := s.service.ListRuns(s.t.Context(), p, conv.ID, 0, 0)
	return len(runs)
}
