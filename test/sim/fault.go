package sim

import "strings"

// Seam is a point at which a process calls, or is called by, something that it does not control.
type Seam string

// The seams.
const (
	Admit   Seam = "journal.admit"
	Acquire Seam = "journal.acquire"
	Commit  Seam = "journal.commit"
	Renew   Seam = "journal.renew"
	Post    Seam = "journal.post"
	Read    Seam = "journal.read"
	Tail    Seam = "journal.tail"
	Queue   Seam = "journal.queue"
	Due     Seam = "journal.due"

	Publish Seam = "bus.publish"
	Watch   Seam = "bus.watch"
	Receive Seam = "bus.receive"

	Submit Seam = "engine.submit"
	Send   Seam = "engine.send"
	Answer Seam = "engine.answer"
	Wake   Seam = "engine.wake"
	Cancel Seam = "engine.cancel"

	ModelBegin Seam = "model.begin"
	ModelChunk Seam = "model.chunk"
	ModelEnd   Seam = "model.end"

	ToolBegin     Seam = "tool.begin"
	ToolReconcile Seam = "tool.reconcile"
	ToolEffect    Seam = "tool.effect"
	ToolEnd       Seam = "tool.end"

	// Arrive is where the driver takes the results of ended steps.
	Arrive Seam = "driver.arrive"
)

// Fault is a kind of fault.
type Fault string

// The faults. A crash, error, delay or pause comes before the call had its effect or after it;
// then the caller does not learn of the effect.
const (
	Crash      Fault = "crash"
	CrashAfter Fault = "crash-after"
	// Fail is an error that does not tell the caller whether the call had its effect.
	Fail      Fault = "fail"
	FailAfter Fault = "fail-after"
	// Twice is a call or a message that happens twice.
	Twice Fault = "twice"
	// Lose is a message that does not arrive.
	Lose Fault = "lose"
	// Reorder is a message that arrives after the next one.
	Reorder Fault = "reorder"
	// Delay delays this call by more than the term of a lease.
	Delay      Fault = "delay"
	DelayAfter Fault = "delay-after"
	// Pause stops the whole process for longer than the term of a lease. Another process starts
	// meanwhile.
	Pause      Fault = "pause"
	PauseAfter Fault = "pause-after"
	// Outage makes the journal refuse every call of every process for longer than the term of a
	// lease.
	Outage Fault = "outage"
)

// faults lists the faults of each seam.
var faults = map[Seam][]Fault{
	Admit:   {Crash, CrashAfter, Fail, FailAfter, Twice, Delay, DelayAfter, Pause, PauseAfter, Outage},
	Acquire: {Crash, CrashAfter, Fail, FailAfter, Twice, Delay, DelayAfter, Pause, PauseAfter, Outage},
	Commit:  {Crash, CrashAfter, Fail, FailAfter, Twice, Delay, DelayAfter, Pause, PauseAfter, Outage},
	Renew:   {Crash, CrashAfter, Fail, FailAfter, Twice, Delay, DelayAfter, Pause, PauseAfter, Outage},
	Post:    {Crash, CrashAfter, Fail, FailAfter, Twice, Reorder, Delay, DelayAfter, Pause, PauseAfter, Outage},
	Read:    {Crash, Fail, Delay, Pause, PauseAfter},
	Tail:    {Crash, Fail, Delay, Pause, PauseAfter},
	Queue:   {Crash, Fail, Delay, Pause, PauseAfter},
	Due:     {Crash, Fail, Delay, DelayAfter, Pause, PauseAfter, Outage},

	Publish: {Crash, CrashAfter, Twice, Lose, Reorder, Delay, Pause, PauseAfter},
	Watch:   {Crash, Fail, Delay, Pause},
	Receive: {Crash, Fail, Delay, Pause},

	Submit: {Crash, CrashAfter, Fail, FailAfter, Twice, Delay, DelayAfter, Pause, PauseAfter},
	Send:   {Crash, CrashAfter, Fail, FailAfter, Twice, Delay, DelayAfter, Pause, PauseAfter},
	Answer: {Crash, CrashAfter, Fail, FailAfter, Twice, Delay, DelayAfter, Pause, PauseAfter},
	Wake:   {Crash, CrashAfter, Lose, Twice, Delay, Pause, PauseAfter},
	Cancel: {Crash, CrashAfter, Fail, FailAfter, Twice, Delay, DelayAfter, Pause, PauseAfter},

	ModelBegin: {Crash, Fail, Delay, Pause},
	ModelChunk: {Crash, Fail, Delay, Pause},
	ModelEnd:   {Crash, Fail, Delay, Pause},

	ToolBegin:     {Crash, Fail, Delay, Pause},
	ToolReconcile: {Crash, Fail, Delay, Pause},
	ToolEffect:    {Crash, CrashAfter, FailAfter, Delay, Pause, PauseAfter},
	ToolEnd:       {Crash, Fail, Delay, Pause},

	Arrive: {Crash, Delay, Pause},
}

// isJournal reports whether the seam belongs to the journal.
func (s Seam) isJournal() bool { return strings.HasPrefix(string(s), "journal.") }

// seams lists all seams in the order of the printed table.
var seams = []Seam{
	Admit, Acquire, Commit, Renew, Post, Read, Tail, Queue, Due,
	Publish, Watch, Receive,
	Submit, Send, Answer, Wake, Cancel,
	ModelBegin, ModelChunk, ModelEnd,
	ToolBegin, ToolReconcile, ToolEffect, ToolEnd,
	Arrive,
}
