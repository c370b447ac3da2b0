package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
)

// The events of a turn without tools. They are made before the measurement, which is of the store.
type turn struct {
	run    journal.Run
	begin  []*event.Event
	finish []*event.Event
}

func newTurn(conversation, run string) *turn {
	question := []event.Block{&event.Text{Text: "What is the sum of 3 and 5?"}}
	head := event.Header{Conversation: conversation, Run: run, Author: "calc"}
	step := head
	step.Step, step.Attempt, step.Cycle = "m1", 1, 1
	usage := event.Usage{Input: 120, Output: 12, Total: 132}
	return &turn{
		run: journal.Run{
			ID: run, Conversation: conversation, Agent: "calc",
			Input: []event.Message{{Role: event.RoleUser, Content: question}},
		},
		begin: []*event.Event{
			{Header: head, Body: &event.RunStarted{Agent: "calc", Model: "demo", Turn: 1, Session: 1}},
			{Header: head, Body: &event.UserMessage{Content: question}},
			{Header: step, Body: &event.StepBegun{Step: event.StepModel, Why: event.WhyInput, Model: "demo"}},
		},
		finish: []*event.Event{
			{Header: step, Body: &event.AssistantMessage{
				Content: []event.Block{&event.Text{Text: "The sum is 8."}}, Stop: event.StopEndTurn, Usage: usage, Model: "demo",
			}},
			{Header: head, Body: &event.RunEnded{
				Status: event.RunCompleted, Stop: event.StopEndTurn, Why: event.WhyEndTurn, Usage: usage, Cycles: 1,
			}},
		},
	}
}

func number(events []*event.Event, seq int64) int64 {
	for _, e := range events {
		seq++
		e.Seq = seq
	}
	return seq
}

// play writes the turn as a driver does: admitted and acquired, then two commits.
func (t *turn) play(tb testing.TB, s journal.Store, have int64) int64 {
	if _, err := s.Admit(context.Background(), t.run); err != nil {
		tb.Fatal(err)
	}
	o, err := s.Acquire(context.Background(), t.run.ID, have)
	if err != nil {
		tb.Fatal(err)
	}
	return t.drive(tb, s, o)
}

// start writes the same turn for a store that admits and acquires in one call.
func (t *turn) start(tb testing.TB, s journal.Store, have int64) int64 {
	o, err := s.Start(context.Background(), t.run, have)
	if err != nil {
		tb.Fatal(err)
	}
	return t.drive(tb, s, o)
}

func (t *turn) drive(tb testing.TB, s journal.Store, o journal.Opened) int64 {
	seq := number(t.begin, o.Last)
	if err := s.Commit(context.Background(), o.Lease, journal.Batch{Events: t.begin}); err != nil {
		tb.Fatal(err)
	}
	seq = number(t.finish, seq)
	if err := s.Commit(context.Background(), o.Lease, journal.Batch{Events: t.finish, Status: event.RunCompleted}); err != nil {
		tb.Fatal(err)
	}
	return seq
}

func mode(relaxed bool) string {
	if relaxed {
		return "relaxed"
	}
	return "durable"
}

// BenchmarkTurn measures one turn on a warm conversation. Its floor is two transactions with one
// insert each, also durable. They take turns, a few at a time, and "x-floor" is the ratio of their
// medians: on a shared disk each varies more than the two differ.
func BenchmarkTurn(b *testing.B) {
	for _, relaxed := range []bool{false, true} {
		for name, begin := range map[string]func(*turn, testing.TB, *sqlite.Store, int64) int64{
			"admit+acquire": func(t *turn, tb testing.TB, s *sqlite.Store, have int64) int64 { return t.play(tb, s, have) },
			"start":         func(t *turn, tb testing.TB, s *sqlite.Store, have int64) int64 { return t.start(tb, s, have) },
		} {
			b.Run(mode(relaxed)+"/"+name, func(b *testing.B) {
				f := newFloor(b, relaxed)
				t := newTurn("talk", "run")
				first, second := encode(b, t.begin), encode(b, t.finish)
				s := open(b, b.TempDir(), sqlite.Options{Relaxed: relaxed})
				var seq int64
				turns := 0
				against(b, func() {
					f.append(first)
					f.append(second)
				}, func() {
					seq = begin(newTurn("talk", "run "+strconv.Itoa(turns)), b, s, seq)
					turns++
				})
			})
		}
	}
}

// against measures something and its floor in turns.
func against(b *testing.B, floor, measured func()) {
	const a = 16
	var floors, times []time.Duration
	pass := func(f func()) time.Duration {
		from := time.Now()
		for range a {
			f()
		}
		return time.Since(from) / a
	}
	for b.Loop() {
		floors = append(floors, pass(floor))
		times = append(times, pass(measured))
	}
	slices.Sort(floors)
	slices.Sort(times)
	least, took := floors[len(floors)/2], times[len(times)/2]
	b.ReportMetric(float64(least.Nanoseconds()), "floor-ns")
	b.ReportMetric(float64(took.Nanoseconds()), "store-ns")
	b.ReportMetric(float64(took)/float64(least), "x-floor")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTurnAfter measures a turn after many events that the driver has.
func BenchmarkTurnAfter(b *testing.B) {
	for _, prior := range []int{10, 10_000} {
		b.Run(strconv.Itoa(prior), func(b *testing.B) {
			s := open(b, b.TempDir(), sqlite.Options{})
			seq := history(b, s, "talk", prior)
			for i := 0; b.Loop(); i++ {
				seq = newTurn("talk", "run "+strconv.Itoa(i)).play(b, s, seq)
			}
		})
	}
}

// BenchmarkAppend measures one durable commit of one event of 1 KiB, beside a write and fsync of as
// many bytes, and a bare INSERT.
func BenchmarkAppend(b *testing.B) {
	b.Run("beside fsync", func(b *testing.B) {
		file, err := os.Create(filepath.Join(b.TempDir(), "file"))
		if err != nil {
			b.Fatal(err)
		}
		defer file.Close()
		data := make([]byte, 1024)
		against(b, func() {
			if _, err := file.Write(data); err != nil {
				b.Fatal(err)
			}
			if err := file.Sync(); err != nil {
				b.Fatal(err)
			}
		}, appends(b))
	})
	b.Run("beside an insert", func(b *testing.B) {
		f := newFloor(b, false)
		data := encode(b, []*event.Event{kibibyte("talk", "run", 1)})
		against(b, func() { f.append(data) }, appends(b))
	})
}

func appends(b *testing.B) func() {
	s := open(b, b.TempDir(), sqlite.Options{})
	l := take(b, s, "talk", "run")
	var seq int64
	return func() {
		seq++
		put(b, s, l, kibibyte("talk", "run", seq))
	}
}

// BenchmarkGroupCommit lets many drivers commit events of 1 KiB durably, each in its own
// conversation.
func BenchmarkGroupCommit(b *testing.B) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(strconv.Itoa(writers), func(b *testing.B) {
			s := open(b, b.TempDir(), sqlite.Options{})
			leases := make([]journal.Lease, writers)
			for i := range leases {
				leases[i] = take(b, s, fmt.Sprint("talk ", i), fmt.Sprint("run ", i))
			}
			b.ResetTimer()
			var wg sync.WaitGroup
			for i, l := range leases {
				wg.Go(func() {
					for seq := int64(1); seq <= int64((b.N+i)/writers); seq++ {
						put(b, s, l, kibibyte(l.Conversation, l.Run, seq))
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkOpenLong opens a conversation of 10,000 events with a cold driver. "tail" has a
// compaction 100 events before its end.
func BenchmarkOpenLong(b *testing.B) {
	const events = 10_000
	s := open(b, b.TempDir(), sqlite.Options{})
	seq := history(b, s, "talk", events-100)
	seq = compacted(b, s, "talk", seq)
	for i := 0; seq < events; i++ {
		seq = newTurn("talk", fmt.Sprint("after ", i)).play(b, s, seq)
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if got, err := s.Read(b.Context(), "talk", 0, 0); err != nil || int64(len(got)) != seq {
				b.Fatal(len(got), err)
			}
		}
	})
	for name, have := range map[string]int64{"acquire": 0, "acquire warm": seq} {
		b.Run(name, func(b *testing.B) {
			if _, err := s.Admit(b.Context(), journal.Run{ID: "last", Conversation: "talk"}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				o, err := s.Acquire(b.Context(), "last", have)
				if err != nil || int64(len(o.Events)) != seq-have {
					b.Fatal(len(o.Events), err)
				}
				if err := s.Commit(b.Context(), o.Lease, journal.Batch{Release: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("tail", func(b *testing.B) {
		for b.Loop() {
			got, err := s.Tail(b.Context(), "talk")
			if err != nil || len(got.Events) > 110 {
				b.Fatal(len(got.Events), err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	for _, runs := range []int{0, 1000} {
		b.Run(fmt.Sprint("open runs=", runs), func(b *testing.B) {
			folder := b.TempDir()
			s := open(b, folder, sqlite.Options{})
			for i := range runs {
				take(b, s, fmt.Sprint("talk ", i), fmt.Sprint("run ", i))
			}
			shut(b, s)
			for i := 0; b.Loop(); i++ {
				s, err := sqlite.Open(folder, sqlite.Options{Owner: fmt.Sprint("process ", i)})
				if err != nil {
					b.Fatal(err)
				}
				due, err := s.Due(b.Context(), 0)
				if err != nil || len(due) != runs {
					b.Fatal(len(due), err)
				}
				shut(b, s)
			}
		})
	}
}

// floor is the least work of a program that stores turns in SQLite.
type floor struct {
	b             testing.TB
	begin, commit *sql.Stmt
	insert        *sql.Stmt
}

func newFloor(b testing.TB, relaxed bool) *floor {
	level := "FULL"
	if relaxed {
		level = "NORMAL"
	}
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "floor.db")+"?_journal_mode=WAL&_synchronous="+level)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.ExecContext(ctx, `CREATE TABLE log (key INTEGER PRIMARY KEY, conversation TEXT, events BLOB)`); err != nil {
		b.Fatal(err)
	}
	prepare := func(text string) *sql.Stmt {
		s, err := conn.PrepareContext(ctx, text)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	}
	return &floor{
		b: b, begin: prepare(`BEGIN IMMEDIATE`), commit: prepare(`COMMIT`),
		insert: prepare(`INSERT INTO log (conversation, events) VALUES (?, ?)`),
	}
}

func (f *floor) append(events []byte) {
	ctx := context.Background()
	_, err := f.begin.ExecContext(ctx)
	if err == nil {
		_, err = f.insert.ExecContext(ctx, "talk", events)
	}
	if err == nil {
		_, err = f.commit.ExecContext(ctx)
	}
	if err != nil {
		f.b.Fatal(err)
	}
}

func encode(b testing.TB, events []*event.Event) []byte {
	var data []byte
	for _, e := range events {
		var err error
		if data, err = event.AppendJSON(data, e); err != nil {
			b.Fatal(err)
		}
	}
	return data
}

// kibibyte returns an event of about 1 KiB of JSON.
func kibibyte(conversation, run string, seq int64) *event.Event {
	return &event.Event{
		Header: event.Header{Seq: seq, Conversation: conversation, Run: run},
		Body:   &event.Notice{Code: "n", Text: strings.Repeat("x", 900)},
	}
}

// take admits a run and returns its lease.
func take(tb testing.TB, s journal.Store, conversation, run string) journal.Lease {
	tb.Helper()
	if _, err := s.Admit(tb.Context(), journal.Run{ID: run, Conversation: conversation}); err != nil {
		tb.Fatalf("Admit: %v", err)
	}
	o, err := s.Acquire(tb.Context(), run, 0)
	if err != nil {
		tb.Fatalf("Acquire: %v", err)
	}
	return o.Lease
}

func put(tb testing.TB, s journal.Store, l journal.Lease, events ...*event.Event) {
	tb.Helper()
	if err := s.Commit(tb.Context(), l, journal.Batch{Events: events}); err != nil {
		tb.Errorf("Commit: %v", err)
	}
}

// history writes turns until the conversation has n events.
func history(tb testing.TB, s journal.Store, conversation string, events int) int64 {
	tb.Helper()
	var seq int64
	for i := 0; seq < int64(events); i++ {
		seq = newTurn(conversation, fmt.Sprint(conversation, " before ", i)).play(tb, s, seq)
	}
	return seq
}

// compacted writes a turn that replaces everything before it by a summary.
func compacted(tb testing.TB, s journal.Store, conversation string, seq int64) int64 {
	tb.Helper()
	t := newTurn(conversation, conversation+" compacts")
	t.finish = append([]*event.Event{{
		Header: t.begin[0].Header,
		Body:   &event.Compacted{From: 1, To: seq, Summary: []event.Block{&event.Text{Text: "They added numbers."}}, Trigger: "limit"},
	}}, t.finish...)
	return t.play(tb, s, seq)
}
