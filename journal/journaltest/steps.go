package journaltest

import (
	"fmt"

	"github.com/braidrun/braid/event"
)

// stepRow is a batch that is refused or accepted after earlier ones.
type stepRow struct {
	name   string
	before [][]event.Event
	batch  []event.Event
	// kind is the error's kind; "" means accepted.
	kind event.ErrorKind
}

func stepCases() []testCase {
	const (
		model    = event.StepModel
		tool     = event.StepTool
		done     = event.OutcomeDone
		conflict = event.ErrConflict
	)
	type (
		batch   = []event.Event
		batches = [][]event.Event
	)
	rows := []stepRow{
		{"a tool step that began may end", batches{{begun("t", 1, tool)}}, batch{ended("t", 1, tool, done)}, ""},
		{"a model step may end with its message", batches{{begun("m", 1, model)}}, batch{answer("m", 1)}, ""},
		{"a model step may end without a message", batches{{begun("m", 1, model)}}, batch{ended("m", 1, model, event.OutcomeFailed)}, ""},
		{"a tool step may end with a question", batches{{begun("t", 1, tool)}}, batch{asked("t", 1, "a")}, ""},
		{"a step may begin and end in one batch", nil, batch{begun("t", 1, tool), ended("t", 1, tool, done)}, ""},
		{"many steps may end in any order", batches{{begun("a", 1, tool), begun("b", 1, tool)}, {begun("c", 1, tool)}}, batch{
			ended("b", 1, tool, done), ended("c", 1, tool, done), ended("a", 1, tool, done),
		}, ""},
		{
			"other events about a step do not end it",
			batches{{begun("t", 1, tool)}, {{Header: event.Header{Step: "t", Attempt: 1}, Body: &event.Notice{Code: "n"}}}},
			batch{ended("t", 1, tool, done)},
			"",
		},
		{"a piece of an answer does not end the step", batches{{begun("m", 1, model)}, {piece("m", 1)}}, batch{piece("m", 1), answer("m", 1)}, ""},
		{"a piece may stand before any message of the batch", nil, batch{begun("m", 1, model), piece("m", 1), ended("m", 1, model, event.OutcomeFailed)}, ""},
		{"a piece of no step ends none", nil, batch{piece("", 0)}, ""},
		{"a message of no step ends none", nil, batch{answer("", 0)}, ""},
		{"a question of no step ends none", nil, batch{asked("", 0, "a"), asked("", 0, "b")}, ""},

		{"a step that has not begun does not end", nil, batch{ended("t", 1, tool, done)}, conflict},
		{"a model step that has not begun gives no message", nil, batch{answer("m", 1)}, conflict},
		{"a model step that has not begun gives no piece", nil, batch{piece("m", 1)}, conflict},
		{"a model step that has ended gives no piece", batches{{begun("m", 1, model), answer("m", 1)}}, batch{piece("m", 1)}, conflict},
		{"a superseded attempt gives no piece", batches{{begun("m", 1, model)}, {begun("m", 2, model)}}, batch{piece("m", 1)}, conflict},
		{"a tool step gives no piece", batches{{begun("t", 1, tool)}}, batch{piece("t", 1)}, conflict},
		{"a tool step that has not begun does not ask", nil, batch{asked("t", 1, "a")}, conflict},
		{"a step does not end before it begins in the batch", nil, batch{ended("t", 1, tool, done), begun("t", 1, tool)}, conflict},
		{"an end names its step", nil, batch{ended("", 1, tool, done)}, conflict},
		{"an end without a step and an attempt closes nothing", nil, batch{ended("", 0, tool, done)}, conflict},
		{"a later attempt than began does not end", batches{{begun("t", 1, tool)}}, batch{ended("t", 2, tool, done)}, conflict},
		{"an earlier attempt than began does not end", batches{{begun("t", 2, tool)}}, batch{ended("t", 1, tool, done)}, conflict},
		{"another step of that name's start does not end", batches{{begun("t1", 1, tool)}}, batch{ended("t", 1, tool, done)}, conflict},
		{"a step ends once", batches{{begun("t", 1, tool)}, {ended("t", 1, tool, done)}}, batch{ended("t", 1, tool, done)}, conflict},
		{"a step ends once in a batch", batches{{begun("t", 1, tool)}}, batch{ended("t", 1, tool, done), ended("t", 1, tool, done)}, conflict},
		{"a step that begins in the batch ends once", nil, batch{begun("t", 1, tool), ended("t", 1, tool, done), ended("t", 1, tool, done)}, conflict},
		{"a model step gives one message", batches{{begun("m", 1, model)}, {answer("m", 1)}}, batch{answer("m", 1)}, conflict},
		{"a failed model step gives no message", batches{{begun("m", 1, model), ended("m", 1, model, event.OutcomeFailed)}}, batch{answer("m", 1)}, conflict},
		{"a message does not end a tool step", batches{{begun("t", 1, tool)}}, batch{answer("t", 1)}, conflict},
		{"a question does not end a model step", batches{{begun("m", 1, model)}}, batch{asked("m", 1, "a")}, conflict},
		{"one end does not end two", batches{{begun("a", 1, tool), begun("b", 1, tool)}, {ended("a", 1, tool, done)}}, batch{ended("a", 1, tool, done)}, conflict},

		{"an attempt follows one that has ended", batches{{begun("m", 1, model)}, {ended("m", 1, model, event.OutcomeFailed), begun("m", 2, model)}}, batch{answer("m", 2)}, ""},
		{"a late result of a superseded attempt is refused", batches{{begun("t", 1, tool)}, {begun("t", 2, tool)}}, batch{ended("t", 1, tool, done)}, conflict},
		{"the attempt that superseded it may end", batches{{begun("t", 1, tool)}, {begun("t", 2, tool)}}, batch{ended("t", 2, tool, done)}, ""},
		{"a superseded attempt is over too when the later one ended", batches{{begun("t", 1, tool), begun("t", 2, tool)}, {ended("t", 2, tool, done)}}, batch{ended("t", 1, tool, done)}, conflict},
		{"an attempt does not begin twice", batches{{begun("t", 1, tool)}}, batch{begun("t", 1, tool)}, conflict},
		{"an attempt does not begin twice in a batch", nil, batch{begun("t", 1, tool), begun("t", 1, tool)}, conflict},
		{"an earlier attempt does not begin after a later one", batches{{begun("t", 2, tool)}}, batch{begun("t", 1, tool)}, conflict},

		{"several questions of one attempt stand in a batch", batches{{begun("t", 1, tool), begun("u", 1, tool)}}, batch{asked("t", 1, "a"), asked("u", 1, "b"), asked("t", 1, "c")}, ""},
		{"questions of two attempts do not stand in one", batches{{begun("t", 1, tool)}}, batch{asked("t", 1, "a"), asked("t", 2, "b")}, conflict},
		{"a question of a superseded attempt is late", batches{{begun("t", 1, tool)}}, batch{asked("t", 1, "a"), begun("t", 2, tool), asked("t", 1, "b")}, conflict},
		{"a question comes not later than the attempt's end", batches{{begun("t", 1, tool)}, {asked("t", 1, "a")}}, batch{asked("t", 1, "b")}, conflict},
		{"an attempt that ended does not ask", batches{{begun("t", 1, tool)}}, batch{ended("t", 1, tool, done), asked("t", 1, "a")}, conflict},
		{"an attempt that asked gives no result", batches{{begun("t", 1, tool)}, {asked("t", 1, "a")}}, batch{ended("t", 1, tool, done)}, conflict},
		{"an attempt follows one that asked", batches{{begun("t", 1, tool)}, {asked("t", 1, "a")}, {begun("t", 2, tool)}}, batch{ended("t", 2, tool, done)}, ""},
		{"an attempt that asked does not begin again", batches{{begun("t", 1, tool)}, {asked("t", 1, "a")}}, batch{begun("t", 1, tool)}, conflict},
		{"a call that asked may be given up", batches{{begun("t", 1, tool)}, {asked("t", 1, "a")}}, batch{ended("t", 1, tool, event.OutcomeCancelled)}, ""},
		{"a call that asked may be closed without an attempt", batches{{begun("t", 1, tool)}, {asked("t", 1, "a")}}, batch{ended("t", 0, tool, event.OutcomeCancelled)}, ""},
		{"a call that asked is given up once", batches{{begun("t", 1, tool)}, {asked("t", 1, "a")}, {ended("t", 1, tool, event.OutcomeCancelled)}}, batch{ended("t", 1, tool, event.OutcomeCancelled)}, conflict},
		{"a call that asked is not given up under another attempt", batches{{begun("t", 2, tool)}, {asked("t", 2, "a")}}, batch{ended("t", 1, tool, event.OutcomeCancelled)}, conflict},
		{"a call that could not begin is closed without an attempt", nil, batch{ended("t", 0, tool, done), ended("u", 0, tool, event.OutcomeCancelled)}, ""},
		{"a call is not closed behind the attempt that runs", batches{{begun("t", 1, tool)}}, batch{ended("t", 0, tool, event.OutcomeCancelled)}, conflict},
	}
	cases := make([]testCase, 0, len(rows)+2)
	for _, row := range rows {
		cases = append(cases, testCase{row.name, func(p *probe) {
			w := p.start()
			for _, b := range row.before {
				w.write(b...)
			}
			if row.kind == "" {
				w.write(row.batch...)
				return
			}
			w.refused("Commit", w.batch(row.batch...), row.kind)
			w.write(note("the lease is still good"))
		}})
	}
	return append(cases,
		testCase{"a step is its run's", func(p *probe) {
			w := p.start()
			w.write(begun("t", 1, tool))
			w.end(event.RunFailed)
			w = p.startIn(talk, next)
			w.refused("end of the earlier run's step", w.batch(ended("t", 1, tool, done)), conflict)
			w.write(begun("t", 1, tool), ended("t", 1, tool, done))
		}},
		testCase{"steps stay open when the driver changes", func(p *probe) {
			w := p.start()
			w.write(begun("a", 1, tool), begun("b", 1, tool), begun("c", 1, model))
			w.write(asked("b", 1, "q"))
			w.release()
			w = p.take(first)
			w.refused("result of what asked", w.batch(ended("b", 1, tool, done)), conflict)
			w.write(ended("a", 1, tool, event.OutcomeInDoubt), begun("b", 2, tool), ended("c", 1, model, event.OutcomeLost))
		}},
		testCase{"a hundred steps at once", func(p *probe) {
			w := p.start()
			const n = 100
			var begins, ends batch
			for i := range n {
				begins = append(begins, begun(fmt.Sprint("t", i), 1, tool))
				ends = append(ends, ended(fmt.Sprint("t", i), 1, tool, done))
			}
			w.write(begins...)
			w.write(ends[:n/2]...)
			w.refused("second end", w.batch(ends[n/4]), conflict)
			w.write(ends[n/2:]...)
		}})
}
