package livetest

import (
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/live"
)

// head returns the header of a step's beginning with the number of the last covered live event, in
// epoch 1.
func head(e event.Event, n int64) event.Header {
	e.Epoch, e.N = 1, n
	return e.Header
}

func snapshotCases() []testCase {
	return []testCase{
		{"who comes late gets what was said", func(p *probe) {
			d := p.drive(theRun)
			begin := d.Begin("m1", 1)
			d.send(begin, d.Text("m1", 1, "one "), d.Text("m1", 1, "two "))
			v := p.watch()
			s := v.synced(1)
			equal(p, "snapshots", s.Steps, []live.Snapshot{{
				Header: head(begin, 2), Kind: event.StepModel,
				Blocks: []live.Block{{Kind: event.BlockText, Text: "one two "}},
			}})
			equal(p, "missed", s.Missed, 0)
			d.send(d.Text("m1", 1, "three"))
			v.says("m1", "one two three")
			d.send(d.Answer("m1", 1, "one two three"))
			v.reach(d.Seq)
			v.rests()
		}},
		{"a step that has said nothing is in flight", func(p *probe) {
			d := p.drive(theRun)
			begin := d.BeginTool("t1", 2, "c1", "add")
			d.send(begin)
			v := p.watch()
			equal(p, "snapshots", v.synced(1).Steps, []live.Snapshot{{
				Header: begin.Header, Kind: event.StepTool, Call: "c1", Tool: "add",
			}})
		}},
		{"every block is kept apart", func(p *probe) {
			d := p.drive(theRun)
			begin := d.Begin("m1", 1)
			d.send(
				begin,
				d.Live("m1", 1, &event.ThinkingDelta{Text: "hm", Block: 0}),
				d.Live("m1", 1, &event.ToolInputDelta{Call: "c2", Tool: "sub", Block: 3}),
				d.Live("m1", 1, &event.TextDelta{Text: "I add ", Block: 1}),
				d.Live("m1", 1, &event.ToolInputDelta{Call: "c1", Tool: "add", JSON: `{"a"`, Block: 2}),
				d.Live("m1", 1, &event.ThinkingDelta{Text: "…", Block: 0}),
				d.Live("m1", 1, &event.ToolInputDelta{Call: "c2", Tool: "sub", JSON: `{`, Block: 3}),
				d.Live("m1", 1, &event.TextDelta{Text: "them.", Block: 1}),
				d.Live("m1", 1, &event.ToolInputDelta{Call: "c1", Tool: "add", JSON: `:1}`, Block: 2}),
			)
			equal(p, "snapshots", p.watch().synced(1).Steps, []live.Snapshot{{
				Header: head(begin, 8), Kind: event.StepModel,
				Blocks: []live.Block{
					{Block: 0, Kind: event.BlockThinking, Text: "hm…"},
					{Block: 1, Kind: event.BlockText, Text: "I add them."},
					{Block: 2, Kind: event.BlockToolCall, Call: "c1", Tool: "add", Text: `{"a":1}`},
					{Block: 3, Kind: event.BlockToolCall, Call: "c2", Tool: "sub", Text: `{`},
				},
			}})
		}},
		{"what is taken back is kept no more", func(p *probe) {
			d := p.drive(theRun)
			begin := d.Begin("m1", 1)
			early := p.watch()
			early.synced(0)
			d.send(
				begin,
				d.Live("m1", 1, &event.ThinkingDelta{Text: "hm", Block: 0}), d.Live("m1", 1, &event.TextDelta{Text: "the secret", Block: 1}),
				d.Live("m1", 1, &event.AnswerReplaced{Text: "[no]", Block: 1}), d.Live("m1", 1, &event.TextDelta{Text: " Bye.", Block: 1}),
			)
			equal(p, "snapshots", p.watch().synced(1).Steps, []live.Snapshot{{
				Header: head(begin, 4), Kind: event.StepModel, Blocks: []live.Block{{Block: 1, Kind: event.BlockText, Text: "[no] Bye."}},
			}})
			early.says("m1", "[no] Bye.")
			d.send(d.Answer("m1", 1, "[no] Bye."))
			early.reach(d.Seq)
		}},
		{"of a tool's progress the last is kept", func(p *probe) {
			d := p.drive(theRun)
			begin := d.BeginTool("t1", 1, "c1", "add")
			last := &event.ToolProgress{Call: "c1", Tool: "add", Text: "half", Data: json.RawMessage(`0.5`)}
			d.send(begin, d.Progress("t1", 1, "c1", "add", "begun"), d.Live("t1", 1, last))
			equal(p, "snapshots", p.watch().synced(1).Steps, []live.Snapshot{{
				Header: head(begin, 2), Kind: event.StepTool, Call: "c1", Tool: "add", Progress: last,
			}})
		}},
		{"every step in flight has one", func(p *probe) {
			d := p.drive(theRun)
			d.send(
				d.BeginTool("t1", 1, "c1", "add"), d.BeginTool("t2", 1, "c2", "sub"), d.BeginTool("t3", 1, "c3", "mul"),
				d.Progress("t2", 1, "c2", "sub", "two"), d.Progress("t1", 1, "c1", "add", "one"),
				d.Fail("t3", 1, event.StepTool, event.OutcomeDone),
			)
			v := p.watch()
			s := v.synced(4)
			v.rests("t1", "t2")
			for _, step := range s.Steps {
				equal(p, "epoch", step.Epoch, 1)
				equal(p, "the number that is covered", step.N, 2)
			}
		}},
		{"a step that has ended has none", func(p *probe) {
			d := p.drive(theRun)
			d.send(
				d.Begin("m1", 1), d.Text("m1", 1, "x"), d.Answer("m1", 1, "x"),
				d.Begin("m2", 1), d.Text("m2", 1, "x"), d.Fail("m2", 1, event.StepModel, event.OutcomeFailed),
				d.BeginTool("t1", 1, "c1", "ask"), d.Progress("t1", 1, "c1", "ask", "x"),
				d.Durable("t1", 1, &event.Asked{Token: "token", Ask: event.AskInput, Call: "c1"}),
				// Closed although no attempt of it runs.
				d.BeginTool("t2", 1, "c2", "ask"), d.Fail("t2", 0, event.StepTool, event.OutcomeCancelled),
			)
			v := p.watch()
			v.synced(d.Seq)
			v.rests()
		}},
		{"a run that has ended has none", func(p *probe) {
			d := p.drive(theRun)
			d.send(d.Begin("m1", 1), d.Text("m1", 1, "x"), d.BeginTool("t1", 1, "c1", "add"), d.End())
			v := p.watch()
			v.synced(d.Seq)
			v.rests()
		}},
		{"another attempt begins anew", func(p *probe) {
			d := p.drive(theRun)
			d.send(
				d.Begin("m1", 1), d.Text("m1", 1, "old"), d.Fail("m1", 1, event.StepModel, event.OutcomeFailed),
				d.Begin("m1", 2), d.Text("m1", 2, "new "),
			)
			v := p.watch()
			v.synced(d.Seq)
			v.shows("m1", "new ")
			d.send(d.Text("m1", 2, "text"))
			v.says("m1", "new text")
			// Also where nothing said that the one before had ended.
			d.send(d.Begin("m1", 3), d.Text("m1", 3, "newest"))
			v.says("m1", "newest")
			late := p.watch()
			late.synced(d.Seq)
			late.shows("m1", "newest")
		}},
		{"a committed piece is not said again", func(p *probe) {
			d := p.drive(theRun)
			d.send(
				d.Begin("m1", 1),
				d.Live("m1", 1, &event.ThinkingDelta{Text: "hm", Block: 0}),
				d.Live("m1", 1, &event.TextDelta{Text: "first", Block: 1}),
				d.Durable("m1", 1, &event.AssistantMessage{
					Content: []event.Block{&event.Thinking{Text: "hm"}, &event.Text{Text: "first"}}, Piece: true,
				}),
				d.Live("m1", 1, &event.TextDelta{Text: "second", Block: 2}),
			)
			v := p.watch()
			s := v.synced(d.Seq)
			equal(p, "blocks", s.Steps[0].Blocks, []live.Block{{Block: 2, Kind: event.BlockText, Text: "second"}})
			d.send(
				d.Durable("m1", 1, &event.AssistantMessage{Content: []event.Block{&event.Text{Text: "second"}}, Piece: true}),
			)
			late := p.watch()
			equal(p, "blocks", late.synced(d.Seq).Steps[0].Blocks, nil)
		}},
		{"who watches is given what he was given", func(p *probe) {
			// A snapshot does not change in the hands of its reader.
			d := p.drive(theRun)
			d.send(d.Begin("m1", 1), d.Text("m1", 1, "one "))
			s := p.watch().synced(1)
			d.send(d.Text("m1", 1, "two "), d.Text("m1", 1, "three "))
			p.watch().says("m1", "one two three ")
			equal(p, "the first snapshot's text", s.Steps[0].Blocks[0].Text, "one ")
		}},
	}
}
