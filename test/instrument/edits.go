package instrument

// Edit replaces text in a package. The text must occur exactly once outside tests, so that an
// edit follows code that moves to another file. The new text calls failpoint or planted.
type Edit struct {
	Dir      string
	Old, New string
}

// points are edits that call package failpoint. The new text has as many lines as the old one, so
// that line numbers in stack traces stay correct.
var points = []Edit{
	{
		"internal/drive", `if asked := w.call.questions.pending(); len(asked) > 0 {`,
		`failpoint.Hit("tool/ended"); if asked := w.call.questions.pending(); len(asked) > 0 { failpoint.Hit("tool/asked")`,
	},
	{
		"internal/drive", `if end.taken != "" && (end.message != nil || !d.interrupted()) {`,
		`failpoint.Hit("model/ended"); if end.taken != "" && (end.message != nil || !d.interrupted()) {`,
	},
	{"internal/lease", `asked := time.Now()`, `failpoint.Hit("drive/renew"); asked := time.Now()`},
	{"internal/drive", `d.callBeforeDrive()` + "\n\t//", `d.callBeforeDrive(); failpoint.Hit("drive/acquired")` + "\n\t//"},
	{"internal/drive", `err = d.iterate()`, `failpoint.Hit("drive/recovered"); err = d.iterate()`},
	{"internal/drive", `waits := false` + "\n\treturn l.retry(", `failpoint.Hit("drive/commit"); waits := false` + "\n\treturn l.retry("},
	{
		"internal/drive", `d.pending.events, d.pending.read = d.pending.events[:0], d.pending.read[:0]`,
		`d.pending.events, d.pending.read = d.pending.events[:0], d.pending.read[:0]; failpoint.Hit("drive/sent")`,
	},
	{"internal/drive", `b, decided := d.callBeforeCompaction(`, `failpoint.Hit("compaction/planned"); b, decided := d.callBeforeCompaction(`},
	{
		"internal/drive", `a := hook.AfterCompaction{Scope: w.scope.ID,`,
		`failpoint.Hit("compaction/summed"); a := hook.AfterCompaction{Scope: w.scope.ID,`,
	},
	{
		"internal/drive", `d.writeCompaction(s, cycle, w.step, w.attempt, &sum.Omission, sum.summary)`,
		`d.writeCompaction(s, cycle, w.step, w.attempt, &sum.Omission, sum.summary); failpoint.Hit("compaction/ended")`,
	},
	{"internal/drive", `func (d *driver) refold() error {`, `func (d *driver) refold() error { failpoint.Hit("compaction/refold")`},
	{
		".", `return Sent{Run: run.ID, Turn: run.Turn, Status: run.Status}, nil`,
		`failpoint.Hit("send/admitted"); return Sent{Run: run.ID, Turn: run.Turn, Status: run.Status}, nil`,
	},
	{
		".", `sent.Interrupted = append(sent.Interrupted, run.ID)`,
		`failpoint.Hit("send/cancelled"); sent.Interrupted = append(sent.Interrupted, run.ID)`,
	},
	{
		".", `err = c.log.Store.Post(ctx, letter)` + "\n\t\tswitch {",
		`err = c.log.Store.Post(ctx, letter); failpoint.Hit("send/posted")` + "\n\t\tswitch {",
	},
	{
		"internal/drive", `if known || err != nil {` + "\n\t\t\tif end.out",
		`failpoint.Hit("tool/reconciled"); if known || err != nil {` + "\n\t\t\tif end.out",
	},
	{"internal/drive", `if !w.take(a, &chunk, send) {`, `failpoint.Hit("model/streaming"); if !w.take(a, &chunk, send) {`},
	{"engine", `return l.drive(ctx, *w)`, `failpoint.Hit("engine/drive"); return l.drive(ctx, *w)`},
	{
		"engine", `func (l *Local) finish(t *task, out Outcome, err error) {`,
		`func (l *Local) finish(t *task, out Outcome, err error) { failpoint.Hit("engine/driven")`,
	},
	{
		"journal/sqlite", "if _, err := w.exec(ctx, `COMMIT`); err != nil {\n\t\t\treturn fail(err)\n\t\t}\n\t\tclear(w.pending)",
		"failpoint.Hit(\"sqlite/commit\"); if _, err := w.exec(ctx, `COMMIT`); err != nil {\n\t\t\treturn fail(err)\n\t\t}; " +
			"failpoint.Hit(\"sqlite/committed\")\n\t\tclear(w.pending)",
	},
}

// bugs are edits that ask package planted for a bug. Some also add a point at the same place.
var bugs = []Edit{
	{"internal/drive", `i := slices.Index(d.exec.flights, w)` + "\n\tif i < 0 {", `i := slices.Index(d.exec.flights, w)` + "\n\t" +
		`if i < 0 { if planted.Is("straggler of the same epoch accepted") && w.call != nil { d.exec.running++; d.settleTool(w) }`},
	{"internal/lease", `case errors.Is(err, event.ErrLeaseLost):`, `case errors.Is(err, event.ErrLeaseLost) && !planted.Is("renewal after loss"):`},
	{
		"internal/lease", `if r.closed || r.lost != nil {` + "\n\t\treturn\n\t}\n\tif left",
		`if r.closed || r.lost != nil || planted.Is("a lease without an end") {` + "\n\t\treturn\n\t}\n\tif left",
	},
	{
		"internal/drive", `if l.LostDrivers <= 0 || row.Lost < l.LostDrivers {`,
		`if l.LostDrivers <= 0 || row.Lost < l.LostDrivers || planted.Is("deadly run driven for ever") {`,
	},
	{
		"internal/fold", `r.Usage = r.Usage.Add(u)`,
		`r.Usage = r.Usage.Add(u); if planted.Is("usage twice") { r.Usage = r.Usage.Add(u) }`,
	},
	{
		"internal/drive", `if err := d.commit(); err != nil {`,
		`if planted.Is("run before commit") && len(d.exec.todo) > 0 { watched = d.perform(); continue }; if err := d.commit(); err != nil {`,
	},
	{
		"internal/drive", `d.addInput(nil, content, func(c []event.Block) event.Body {`,
		`if planted.Is("message lost") { continue }; ` +
			`if planted.Is("message twice") { d.add(nil, "", 0, &event.UserMessage{Content: m.Message, Mail: m.ID}) }; ` +
			`d.addInput(nil, content, func(c []event.Block) event.Body {`,
	},
	{
		".", `err = c.log.Store.Post(ctx, letter)` + "\n\tif err == nil {",
		`if planted.Is("answer accepted twice") { letter.ID += string(letter.Value) }; err = c.log.Store.Post(ctx, letter)` + "\n\tif err == nil {",
	},
	{
		"internal/drive", `if c.State == fold.CallBegun && c.Child == nil && !d.repeatable(s, c) {`,
		`if c.State == fold.CallAsked && planted.Is("asked taken for begun") { c.State, c.Attempt = fold.CallBegun, 0 }; ` +
			`if c.State == fold.CallBegun && c.Child == nil && !d.repeatable(s, c) {`,
	},
	{
		"internal/drive", `if err := d.lease.commit(b, d.cfg.work.stalled); err != nil {` + "\n\t\treturn err\n\t}\n\tfor",
		`if planted.Is("send before commit") { for _, e := range d.pending.events { d.send(e) } }; ` +
			`if err := d.lease.commit(b, d.cfg.work.stalled); err != nil {` + "\n\t\treturn err\n\t}; " +
			`failpoint.Hit("drive/committed")` + "\n\tfor",
	},
	{
		"internal/drive", `d.addAt(s, cycle, step, attempt, b)`,
		`d.addAt(s, cycle, step, attempt, b); if planted.Is("compacted twice") { d.addAt(s, cycle, step, attempt, b) }`,
	},
	{
		"internal/fold", `root.Cycle-- // its model call is made again` + "\n\t}",
		`root.Cycle-- // its model call is made again` + "\n\t}; " + `if planted.Is("continued from the beginning") { ` +
			`prompt := func(m event.Message) bool { return m.Role == event.RoleUser && event.TextOf(m.Content) != "" }; ` +
			`for m := root.Transcript.Messages; len(m) > 0 && !prompt(m[len(m)-1]); root.Transcript.Messages = m { ` +
			`m = m[:len(m)-1] }; root.Cycle = 0 }`,
	},
	{
		"internal/drive", `case d.exec.running > 0:` + "\n\t\treturn",
		`case d.exec.running > 0 && !planted.Is("handed back in the middle of a step"):` + "\n\t\treturn",
	},
	{
		"internal/drive", `end.out, end.err = c.tool.Call(called, c.Args)`,
		`failpoint.Hit("tool/begun"); if planted.Is("tool run twice") { _, _ = c.tool.Call(called, c.Args) }; ` +
			`end.out, end.err = c.tool.Call(called, c.Args)`,
	},
	{"engine", `case woken:`, `case woken && !planted.Is("lost wake-up"):`},
	{
		"engine", `row, err := l.store.Admit(ctx, run)`,
		`if planted.Is("acknowledged before it is written") { ` +
			`go func() { _, _ = l.store.Admit(context.WithoutCancel(ctx), run) }(); return run, nil }; ` +
			`row, err := l.store.Admit(ctx, run); failpoint.Hit("engine/admitted")`,
	},
	{
		"engine", `Kind: journal.MailCancel, By: by})` + "\n\tif err != nil {",
		`Kind: journal.MailCancel, By: by})` + "\n\t" + `if err != nil && !planted.Is("cancelled in memory alone") {`,
	},
	{
		"journal", `if mail.Kind == MailCancel {` + "\n\t\tr.row.Cancelled",
		`if mail.Kind == MailAnswer && planted.Is("an answer that takes the epoch") { r.conversation.epoch++ }; ` +
			`if mail.Kind == MailCancel {` + "\n\t\tr.row.Cancelled",
	},
	{
		"journal", `return !c.held || !now.Before(c.until)` + "\n\tdefault:",
		`return (!c.held || !now.Before(c.until)) && !planted.Is("dead driver's run forgotten")` + "\n\tdefault:",
	},
	{
		"journal", `if !c.heldBy(r, l) {` + "\n\t\tif len(b.Events)",
		`if !c.heldBy(r, l) && !planted.Is("no epoch check") {` + "\n\t\tif len(b.Events)",
	},
	{"journal", `if !ok {` + "\n\t\t\treturn nil, false, &event.Error{", `if !ok && !planted.Is("straggler of the same epoch accepted") {` +
		"\n\t\t\treturn nil, false, &event.Error{"},
	{"live", `if !f.over(&item.Event.Header, 0) {`, `if !f.over(&item.Event.Header, 0) || planted.Is("piece of what is over") {`},
	{
		"live", `page, err := f.log(ctx, after, f.page)`,
		`if planted.Is("replay off by one") { after++ }; page, err := f.log(ctx, after, f.page)`,
	},
	{"live", `looks := f.poll > 0`, `looks := f.poll > 0 && !planted.Is("no look at the journal")`},
}

// driven is added to the command, so that test/kill can control it.
const driven = `package main

import (
	"os"

	"github.com/braidrun/braid/test/kill/worker"
)

func init() {
	if len(os.Args) > 1 && os.Args[1] == worker.Command {
		os.Exit(worker.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
}
`
