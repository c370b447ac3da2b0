package adk_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/wire/adk"
	"github.com/braidrun/braid/wire/wiretest"
)

// frames parses a stream as ADK's clients do: lines that begin with "data:".
func frames(t rapid.TB, text []byte) (events []adk.Event, ids []string) {
	id := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if after, ok := strings.CutPrefix(line, "id: "); ok {
			id = after
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		e, err := adk.Decode([]byte(data))
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		events, ids = append(events, e), append(ids, id)
	}
	return events, ids
}

// list gives all durable events of a conversation as those of its session.
func list(t rapid.TB, events []event.Event) []adk.Event {
	enc := &adk.Encoder{List: true}
	feed := wiretest.Feed(enc, "")
	out := []byte("[")
	for i := range events {
		if !events[i].Live() {
			out = feed.Append(out, &events[i])
		}
	}
	out = append(enc.AppendInterrupted(out, nil), ']')
	got, err := adk.DecodeList(out, 10_000)
	if err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return got
}

// What holds of every stream, whatever happens in the run.
func TestStreams(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		conversation := wiretest.Conversation().Draw(t, "events")
		feed := wiretest.Feed(adk.Wire.Open(wireStart("")), "")
		var out []byte
		var texts adk.Texts
		told := map[string]string{} // what was streamed of each answer
		calls := map[string]bool{}
		for i := range conversation {
			out = feed.Append(out[:0], &conversation[i])
			events, _ := frames(t, out)
			for _, e := range events {
				if e.ID == "" || e.InvocationID != conversation[i].Run || e.Author == "" {
					t.Fatalf("an event without a name: %s", e.AppendJSON(nil))
				}
				for _, c := range e.Calls() {
					if c.ID == "" {
						t.Fatalf("a call has no id: %s", e.AppendJSON(nil))
					}
					calls[c.ID] = true
				}
				for _, r := range e.Responses() {
					if e.Author == adk.UserAuthor || e.Content.Role != "user" || !calls[r.ID] {
						t.Fatalf("a result of %s by %s in the role %s", r.ID, e.Author, e.Content.Role)
					}
				}
				if e.Partial == adk.True {
					if e.Final() {
						t.Fatal("a piece is final")
					}
					told[e.ID] += e.Text()
					texts.Add(&e)
					continue
				}
				if said, streamed := told[e.ID]; streamed && e.ErrorCode == "" {
					if !strings.HasPrefix(e.Text(), said) || said+texts.Add(&e) != e.Text() {
						t.Fatalf("%q was streamed of %q", said, e.Text())
					}
				}
			}
		}
		whole := list(t, conversation)
		stream := wiretest.Feed(&adk.Encoder{}, "") // without pieces
		out = out[:0]
		for i := range conversation {
			out = stream.Append(out, &conversation[i])
		}
		sent, _ := frames(t, out)
		n := 0
		for i := range whole {
			if whole[i].Author != adk.UserAuthor {
				if n >= len(sent) || sent[n].ID != whole[i].ID {
					t.Fatalf("the session has %s, the stream does not", whole[i].AppendJSON(nil))
				}
				n++
			}
		}
		if n != len(sent) {
			t.Fatalf("the session has %d events of agents, the stream %d", n, len(sent))
		}
	})
}

// A reader that comes back has in the end what one has that stayed: nothing is lost, and only pieces are left out.
func TestResumedStreams(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		conversation := wiretest.Conversation().Draw(t, "events")
		run := conversation[0].Run
		whole := wiretest.Feed(adk.Wire.Open(wireStart(run)), run)
		var out []byte
		for i := range conversation {
			out = whole.Append(out, &conversation[i])
		}
		all, ids := frames(t, out)
		if len(all) == 0 {
			return
		}
		cut := rapid.IntRange(0, len(all)-1).Draw(t, "cut after")
		at, ok := adk.ParseCursor(ids[cut])
		if !ok {
			t.Skip("nothing names the place")
		}
		enc := adk.Wire.Open(wireStart(run)).(*adk.Encoder)
		feed := wiretest.Feed(enc, run)
		resumed := false
		out = out[:0]
		for i := range conversation {
			e := &conversation[i]
			switch {
			case !e.Live() && e.Seq <= at.Seq:
				feed.Skip(e)
				continue
			case !resumed && !e.Live():
				enc.Resume(at)
				resumed = true
			case !resumed:
				continue
			}
			out = feed.Append(out, e)
		}
		if !resumed {
			enc.Resume(at)
		}
		rest, _ := frames(t, out)
		want := names(all[cut+1:])
		got := names(rest)
		if !strings.HasSuffix(got, want) || strings.Count(got, "\n") > strings.Count(want, "\n")+1 {
			t.Fatalf("after %s (frame %d)\n%s\nis sent, not\n%s", ids[cut], cut, got, want)
		}
	})
}

// names names the events that are no pieces, a line each.
func names(events []adk.Event) string {
	var b strings.Builder
	for i := range events {
		if events[i].Partial != adk.True {
			b.WriteString(events[i].ID + "\n")
		}
	}
	return b.String()
}
