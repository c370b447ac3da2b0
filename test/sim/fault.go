package sim

import "strings"

// Seam is a place at which a process calls, or is called by, what it does not
// control.
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

	// Arrive is where the driver takes in what has ended.
	Arrive Seam = "driver.arrive"
)

// Fault is what goes wrong.
type Fault string

// The faults. A crash is before the call had its effect or after it: then nobody
// learns of it. The same goes for errors, delays and pauses.
const (
	Crash      Fault = "crash"
	CrashAfter Fault = "crash-after"
	// Fail is an error of which the caller cannot know whether the call had its effect.
	Fail      Fault = "fail"
	FailAfter Fault = "fail-after"
	// Twice is a call, or a message, that comes two times.
	Twice Fault = "twice"
	// Lose is a message that does not come.
	Lose Fault = "lose"
	// Reorder is a message that comes after the next one.
	Reorder Fault = "reorder"
	// Delay is longer than a lease lasts, for this call alone.
	Delay      Fault = "delay"
	DelayAfter Fault = "delay-after"
	// Pause stops the whole process for longer than a lease lasts. Another one is
	// started meanwhile.
	Pause      Fault = "pause"
	PauseAfter Fault = "pause-after"
	// Outage has the journal refuse every call of every process, for longer than a
	// lease lasts.
	Outage Fault = "outage"
)

// faults says what may strike where.
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

// isJournal reports whether the seam is the journal's.
func (s Seam) isJournal() bool { return strings.HasPrefix(string(s), "journal.") }

// seams lists all of them in the order of the table that is printed.
var seams = []Seam{
	Admit, Acquire, Commit, Renew, Post, Read, Tail, Queue, Due,
	Publish, Watch, Receive,
	Submit, Send, Answer, Wake, Cancel,
	ModelBegin, ModelChunk, ModelEnd,
	ToolBegin, ToolReconcile, ToolEffect, ToolEnd,
	Arrive,
}
