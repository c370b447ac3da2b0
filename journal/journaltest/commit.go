package journaltest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

func commitCases() []testCase {
	return []testCase{
		{"events are appended in order and come back whole", func(p *probe) {
			w := p.start()
			want := slices.Concat(
				w.write(note("a")).Events, w.write(note("b"), note("c"), note("d")).Events, w.write(note("e")).Events)
			equal(p, "log", p.log(talk), want)
			equal(p, "seqs", seqs(p.log(talk)), []int64{1, 2, 3, 4, 5})
			w.release()
			equal(p, "last seq", p.acquire(first, 5).Last, int64(5))
		}},
		{"every kind of body, block and header field survives", func(p *probe) {
			w := p.start()
			b := w.batch(everything()...)
			b.Status = event.RunCompleted
			w.commit(b)
			equal(p, "log", p.log(talk), b.Events)
			p.admit(journal.Run{ID: next, Conversation: talk})
			equal(p, "events that the next run's driver gets", p.acquire(next, 0).Events, b.Events)
		}},
		{"the caller may use its slice again", func(p *probe) {
			w := p.start()
			b := w.batch(note("a"), note("b"))
			want := slices.Clone(b.Events)
			w.commit(b)
			b.Events[0], b.Events[1] = b.Events[1], nil
			equal(p, "log", p.log(talk), want)
		}},
		{"a run that waits, ends or is released loses its lease", func(p *probe) {
			for name, b := range map[string]func(w *pen) journal.Batch{
				"waits": func(*pen) journal.Batch { return journal.Batch{Status: event.RunWaiting} },
				"ends":  func(w *pen) journal.Batch { return w.ending(event.RunCompleted) },
				"is released": func(w *pen) journal.Batch {
					b := w.batch(note("bye"))
					b.Release = true
					return b
				},
			} {
				w := p.startIn(name, name)
				w.commit(b(w))
				w.lost("commit after the run "+name, w.batch(note("late")))
				w.lost("reading nothing after the run "+name, journal.Batch{Status: event.RunRunning})
				_, err := p.Store.Renew(p.ctx, w.lease)
				p.refused("Renew after the run "+name, err, event.ErrLeaseLost)
			}
		}},
		{"the status is the run's, and none keeps it", func(p *probe) {
			r := journal.Run{ID: first, Conversation: talk}
			far := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
			w := p.start()
			w.write(note("a"))
			equal(p, "status", p.row(r).Status, event.RunRunning)
			w.park(far)
			equal(p, "status", p.row(r).Status, event.RunWaiting)
			equal(p, "wake-up", p.row(r).WakeAt, far)
			w = p.take(first)
			w.park(time.Time{})
			equal(p, "wake-up", p.row(r).WakeAt, time.Time{})
			w = p.take(first)
			w.commit(journal.Batch{Release: true})
			equal(p, "status", p.row(r).Status, event.RunRunning)
			p.take(first).end(event.RunCancelled)
			equal(p, "status", p.row(r).Status, event.RunCancelled)
		}},
		{"a batch that does not go on from the last event is refused", func(p *probe) {
			w := p.start()
			w.write(note("a"), note("b"))
			gap := *w
			gap.last = 3
			gap.lost("commit after a gap", gap.batch(note("late")))
			over := *w
			over.last = 1
			over.lost("commit over an event", over.batch(begun("m1", 1, event.StepModel)))
			over.lost("commit over an event and on", over.batch(note("b"), note("c")))
			w.write(note("c"))
		}},
		{"a batch that can never be right is invalid", func(p *probe) {
			w := p.start()
			p.admit(journal.Run{ID: next, Conversation: talk})
			w.write(note("a"))
			bad := func(what string, change func(b *journal.Batch)) {
				p.Helper()
				b := w.batch(note("b"), note("c"))
				change(&b)
				w.refused(what, b, event.ErrInvalid)
			}
			bad("no event", func(b *journal.Batch) { b.Events[1] = nil })
			bad("no body", func(b *journal.Batch) { b.Events[1].Body = nil })
			bad("a live event", func(b *journal.Batch) { b.Events[1].Body = &event.TextDelta{Text: "x"} })
			bad("a gap inside", func(b *journal.Batch) { b.Events[1].Seq = 4 })
			bad("one seq twice", func(b *journal.Batch) { b.Events[1].Seq = 2 })
			bad("seqs from 0", func(b *journal.Batch) { b.Events[0].Seq, b.Events[1].Seq = 0, 1 })
			bad("another run's event", func(b *journal.Batch) { b.Events[1].Run = next })
			bad("another conversation's event", func(b *journal.Batch) { b.Events[1].Conversation = other })
			bad("a step without a name", func(b *journal.Batch) {
				b.Events[1].Attempt, b.Events[1].Body = 1, &event.StepBegun{}
			})
			bad("a step without an attempt", func(b *journal.Batch) {
				b.Events[1].Step, b.Events[1].Body = "m1", &event.StepBegun{}
			})
			bad("temp state set", func(b *journal.Batch) { b.Events[1].Body = set("a", "1", "temp:x", "1").Body })
			bad("temp state deleted", func(b *journal.Batch) { b.Events[1].Body = unset("a", "temp:x").Body })
			bad("back to the queue", func(b *journal.Batch) { b.Status = event.RunQueued })
			bad("no status", func(b *journal.Batch) { b.Status = "asleep" })
			bad("a wake-up for a run that runs", func(b *journal.Batch) { b.WakeAt = noon })
			bad("an end without its event", func(b *journal.Batch) { b.Status = event.RunFailed })
			bad("an end event without the status", func(b *journal.Batch) {
				b.Events[1].Body = &event.RunEnded{Status: event.RunFailed}
			})
			bad("an end event of another status", func(b *journal.Batch) {
				b.Events[1].Body, b.Status = &event.RunEnded{Status: event.RunFailed}, event.RunCompleted
			})
			bad("an end event that says the run waits", func(b *journal.Batch) {
				b.Events[1].Body, b.Status = &event.RunEnded{Status: event.RunWaiting}, event.RunWaiting
			})
			bad("an event after the end", func(b *journal.Batch) {
				b.Events[0].Body, b.Status = &event.RunEnded{Status: event.RunFailed}, event.RunFailed
			})
			for _, l := range []journal.Lease{
				{Conversation: talk, Epoch: w.lease.Epoch}, {Run: first, Epoch: w.lease.Epoch},
			} {
				err := p.Store.Commit(p.ctx, l, journal.Batch{})
				p.refused("Commit under a lease without an id", err, event.ErrInvalid)
				_, err = p.Store.Renew(p.ctx, l)
				p.refused("Renew of a lease without an id", err, event.ErrInvalid)
			}
			w.write(note("b"))
		}},
		{"a refused batch leaves no trace", func(p *probe) {
			r := journal.Run{ID: first, Conversation: talk}
			w := p.start()
			w.write(set("app:n", "1"), begun("t1", 1, event.StepTool), begun("t3", 1, event.StepTool))
			p.post(letter("a", first))
			b := w.ending(event.RunCompleted,
				set("app:n", "2", "user:n", "2"),
				ended("t1", 1, event.StepTool, event.OutcomeDone),
				begun("t2", 1, event.StepTool),
				ended("t0", 1, event.StepTool, event.OutcomeDone))
			b.Read = []string{"a"}
			w.refused("commit with a step that has not begun", b, event.ErrConflict)
			b.Read = []string{"a", "b"}
			b.Events = slices.Delete(b.Events, 3, 4)
			b.Events[3].Seq--
			w.refused("commit that reads mail that is not there", b, event.ErrConflict)

			equal(p, "status", p.row(r).Status, event.RunRunning)
			// The lease is still valid, the old step is still open, and the new one is unknown.
			w.refused("end of the step that never began",
				w.batch(ended("t2", 1, event.StepTool, event.OutcomeDone)), event.ErrConflict)
			w.write(ended("t1", 1, event.StepTool, event.OutcomeDone), ended("t3", 1, event.StepTool, event.OutcomeDone))
			w.release()
			o := p.acquire(first, 0)
			equal(p, "mail", mailIDs(o.Mail), []string{"a"})
			equal(p, "shared state", o.Shared, map[string]json.RawMessage{"app:n": json.RawMessage("1")})
		}},
		{"a batch without events may do the rest", func(p *probe) {
			p.admit(journal.Run{ID: first, Conversation: talk})
			p.post(letter("a", first))
			p.post(letter("b", first))
			w := p.take(first)
			w.commit(journal.Batch{})
			w.commit(journal.Batch{Status: event.RunRunning, Read: []string{"a"}})
			w.commit(journal.Batch{Status: event.RunWaiting})
			equal(p, "mail", mailIDs(p.acquire(first, 0).Mail), []string{"b"})
			equal(p, "log", p.log(talk), nil)
		}},
		{"an event of a kind that nobody knows survives", func(p *probe) {
			w := p.start()
			b := w.batch(
				event.Event{Body: &event.Unknown{Name: "hologram", Raw: json.RawMessage(`{"depth":[3,{"x":null}],"n":12345678901234567890}`)}},
				event.Event{Body: &event.Unknown{Name: "smell", Raw: json.RawMessage(`"rain"`)}},
				event.Event{Body: &event.UserMessage{Content: []event.Block{
					&event.UnknownBlock{Name: "map", Raw: json.RawMessage(`{"kind":"map","zoom":3}`)},
				}}})
			w.commit(b)
			equal(p, "log", p.log(talk), b.Events)
		}},
	}
}

// everything returns an event of each durable body, with blocks of each kind.
func everything() []event.Event {
	cost := int64(0)
	later := noon.Add(time.Hour)
	fault := &event.Error{
		Op: "tool add", Kind: event.ErrThrottled, Message: "too fast", Hint: "slow down", RetryAfter: time.Second,
	}
	usage := event.Usage{Input: 1, Output: 2, Total: 3, CacheRead: 4, CacheWrite: 5, Reasoning: 6}
	blocks := []event.Block{
		&event.Text{Text: "a\x00b \u2028 \"ü\" 🙂", Signature: "s"},
		&event.Thinking{Text: "hm", Signature: "s"},
		&event.RedactedThinking{Data: "x"},
		&event.Image{MIME: "image/png", Data: []byte{0, 255}, URL: "https://example.com/i"},
		&event.Document{Name: "d", MIME: "text/plain", Text: "t"},
		&event.Media{Media: "audio", MIME: "audio/wav", URL: "https://example.com/a"},
		&event.ToolCall{ID: "c", Name: "add", Args: json.RawMessage(`{"a":1}`), Signature: "s"},
		&event.ToolCall{ID: "c2", Name: "add", Invalid: "{oops"},
		&event.ToolResult{Call: "c", Name: "add", Content: words("2"), Structured: json.RawMessage(`2`), IsError: true},
		&event.Citation{Title: "t", URL: "u", Quote: "q", Start: 1, End: 2},
		&event.Code{Language: "go", Code: "x"},
		&event.CodeResult{Outcome: "ok", Output: "y"},
	}
	bodies := []event.Body{
		&event.RunStarted{
			Agent: "a", Model: "m", Turn: 1, Session: 2, Executor: "e", Tools: []string{"add"},
			Servers: []event.ToolServer{{Name: "s", Status: "ok"}}, Metadata: map[string]string{"k": "v"},
		},
		&event.UserMessage{Content: blocks},
		&event.AssistantMessage{
			Content: blocks, Stop: event.StopEndTurn, Usage: usage, Model: "m", Response: "r",
			Latency: time.Second, TimeToFirstByte: time.Millisecond,
		},
		&event.StepBegun{
			Step: event.StepTool, Why: event.WhyInput, Model: "m", Call: "c", Tool: "add",
			Effect: event.EffectPure, Reconcile: true,
		},
		&event.StepEnded{
			Step: event.StepTool, Outcome: event.OutcomeFailed, Err: fault, Usage: usage, UsageUnknown: true,
			Result:  &event.ToolResult{Call: "c", Content: blocks[:2]},
			RetryAt: later, EndTurn: true, Duration: time.Minute,
		},
		&event.ScopeOpened{ID: "s", Parent: "p", Call: "c", Node: "n", Agent: "a", Depth: 1, Input: words("i")},
		&event.ScopeClosed{ID: "s", Output: words("o"), Stop: event.StopEndTurn, Why: event.WhyEndTurn, Route: "r", Err: fault},
		&event.StateChanged{
			Set:    map[string]json.RawMessage{"a": json.RawMessage(`null`), "b": json.RawMessage(`{"x":1}`)},
			Delete: []string{"c"},
		},
		&event.ArtifactSaved{Name: "n", Version: 1, MIME: "text/plain", Size: 2, Digest: "d"},
		&event.Transferred{From: "a", To: "b"},
		&event.Escalated{Reason: "r"},
		&event.Decided{Name: "n", Value: json.RawMessage(`[true]`), Duration: time.Minute},
		&event.Decided{Name: "n", Err: fault},
		&event.Asked{
			Token: "t", Ask: event.AskApproval, Name: "n", Index: 1, Prompt: "p", Payload: json.RawMessage(`{}`),
			Schema: json.RawMessage(`{}`), Call: "c", Tool: "add", Args: json.RawMessage(`{}`), Expires: later,
		},
		&event.Answered{Token: "t", Value: json.RawMessage(`null`), By: "ann"},
		&event.Fault{Err: fault},
		&event.Notice{Code: "c", Text: "t", Data: json.RawMessage(`[1]`)},
		&event.Compacted{From: 1, To: 2, Summary: words("s"), Keep: []int64{2}, Trigger: "limit"},
		&event.Redacted{Target: 1, Replacement: words("r"), Reason: "r"},
		&event.RunEnded{
			Status: event.RunCompleted, Stop: event.StopLimitCycles, Why: event.WhyLimit, Err: fault, Usage: usage,
			Cycles: 1, Duration: time.Minute, CostNanoUSD: &cost, Output: json.RawMessage(`{"a":1}`),
		},
	}
	events := make([]event.Event, len(bodies))
	for i, b := range bodies {
		events[i].Body = b
		switch b.(type) {
		case *event.StepBegun, *event.StepEnded:
			events[i].Step, events[i].Attempt = "s/t1.0", 3
		case *event.Notice:
			events[i].Header = event.Header{
				Scope: "s", Cycle: 2, Step: "s/m2", Attempt: 4, Author: "agent", Branch: "a.b",
				Audience: event.Operator, Simulated: true,
			}
		}
	}
	return events
}
