//go:build unix

package frozen

import (
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// retryAfter is long enough for a run to be parked.
const retryAfter = 31 * time.Second

// frozenRun is one run of a frozen journal: how it was brought into its state, and
// what comes of it when it is driven today. Its conversation has its name, but for
// one that stands behind another.
type frozenRun struct {
	name   string
	behind string
	plan   string
	// asleep runs are admitted and never driven.
	asleep bool
	// mail is left when the run stands where it is to stand; again drives it once
	// more after that. secondLife drives it in a process after the one that was killed.
	mail       []journal.Mail
	again      bool
	secondLife bool
	// status is the run's in the file.
	status event.RunStatus

	// answer is what its question is answered, if it still has one.
	answer string
	// ends is how it ends, acts what its tools do until then, doubts how many calls are
	// in doubt in all, asks how many were reconciled.
	ends   event.RunStatus
	acts   string
	doubts int
	asks   int
	// says is part of what the model is shown last.
	says string
}

func message(id, text string) journal.Mail {
	return journal.Mail{ID: id, Kind: journal.MailMessage, Message: []event.Block{&event.Text{Text: text}}}
}

// runs are all that were ever frozen, by their names. A version has those that its
// line in versions lists.
var runs = []frozenRun{
	{name: "queued", plan: "do look", asleep: true, status: event.RunQueued, ends: event.RunCompleted, acts: "look"},
	{name: "model", plan: "do think!,look", status: event.RunRunning, ends: event.RunCompleted, acts: "look"},
	{name: "behind", behind: "model", plan: "do file", asleep: true, status: event.RunQueued, ends: event.RunCompleted, acts: "file"},
	{name: "pure", plan: "do look!", status: event.RunRunning, ends: event.RunCompleted, acts: "look"},
	{name: "idempotent", plan: "do file!", status: event.RunRunning, ends: event.RunCompleted, acts: "file"},
	{name: "reconciled", plan: "do book!", status: event.RunRunning, ends: event.RunCompleted, asks: 1, says: "done before"},
	{name: "unknown", plan: "do book?", status: event.RunRunning, ends: event.RunCompleted, asks: 1, acts: "book"},
	{name: "unsafe", plan: "do pay!", status: event.RunRunning, ends: event.RunCompleted, doubts: 1, says: "In doubt"},
	{
		name: "batch", plan: "do look,file,look!,file!,pay!", status: event.RunRunning,
		ends: event.RunCompleted, acts: "file look", doubts: 1, says: "In doubt",
	},
	{name: "doubt", plan: "do pay!|think!", secondLife: true, status: event.RunRunning, ends: event.RunCompleted, doubts: 1, says: "In doubt"},
	{name: "question", plan: "do permit", status: event.RunWaiting, answer: "yes", ends: event.RunCompleted, acts: "permit", says: "yes"},
	{
		name: "answered", plan: "do permit", status: event.RunWaiting, ends: event.RunCompleted, acts: "permit", says: "surely",
		mail: []journal.Mail{{ID: "a", Kind: journal.MailAnswer, Value: []byte(`"surely"`), By: "ann"}},
	},
	{name: "timer", plan: "do busy,look", status: event.RunWaiting, ends: event.RunCompleted, acts: "look"},
	{name: "child-waits", plan: "do helper:permit", status: event.RunWaiting, answer: "yes", ends: event.RunCompleted, acts: "permit"},
	{name: "child-acts", plan: "do helper:file!+pay!", status: event.RunRunning, ends: event.RunCompleted, acts: "file", doubts: 1},
	{
		name: "unread", plan: "do look!", status: event.RunRunning, ends: event.RunCompleted, acts: "look", says: "mind the step",
		mail: []journal.Mail{message("m", "mind the step")},
	},
	{
		name: "waits-unread", plan: "do permit", status: event.RunWaiting, answer: "yes", ends: event.RunCompleted, acts: "permit",
		says: "mind the gap", mail: []journal.Mail{message("m", "mind the gap")},
	},
	{
		name: "cancelled", plan: "do permit", status: event.RunWaiting, ends: event.RunCancelled,
		mail: []journal.Mail{{ID: "c", Kind: journal.MailCancel}},
	},
	{
		name: "left", plan: "do permit", again: true, status: event.RunCancelled, ends: event.RunCancelled,
		mail: []journal.Mail{message("m", "do file"), {ID: "c", Kind: journal.MailCancel}},
	},
	// The heir of the one before, whom the journal admitted for the message.
	{name: "left+", behind: "left", status: event.RunQueued, ends: event.RunCompleted, acts: "file"},
	{name: "completed", plan: "do remember", status: event.RunCompleted, ends: event.RunCompleted},
	{name: "failed", plan: "do look|fail", status: event.RunFailed, ends: event.RunFailed},
}

// versions are the files in testdata, with the runs that each has.
var versions = []struct {
	name string
	runs []string
}{
	{"v0.1", []string{
		"queued", "model", "behind", "pure", "idempotent", "reconciled", "unknown", "unsafe", "batch", "doubt", "question",
		"answered", "timer", "child-waits", "child-acts", "unread", "waits-unread", "cancelled", "left", "left+", "completed", "failed",
	}},
}

func (r *frozenRun) talk() string {
	if r.behind != "" {
		return r.behind
	}
	return r.name
}
