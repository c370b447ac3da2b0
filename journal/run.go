package journal

import (
	"time"

	"github.com/braidrun/braid/event"
)

// CodePassed is the Code of the error for a run that Follows one that is no longer its conversation's newest.
const CodePassed = "RUN_PASSED"

// Run is a run's row.
type Run struct {
	// ID names the run. The caller chooses it; it is not empty.
	ID string
	// Conversation names the run's log. The caller chooses it; it is not empty.
	Conversation string
	// Tenant is the isolation boundary, and scopes "app:" state. It may be empty in a library.
	Tenant string
	// User is the user within the tenant, and scopes "user:" state. It may be empty in a library.
	User string
	// Agent is the root agent's name.
	Agent string
	// Input is what the run answers. A run without input continues with what is there.
	Input []event.Message
	// Key makes admission idempotent within the conversation; empty means none.
	Key string
	// Executor and Metadata are the caller's labels.
	Executor string
	Metadata map[string]string
	// NewSession begins a new stretch of the log that the model sees.
	NewSession bool
	// Alone admits the run only if no other run of the conversation is open. It is neither stored nor compared.
	Alone bool
	// Follows is the turn that the conversation's newest run must have for this run to be admitted; 0 admits it after
	// any. The transaction that assigns the turn checks it. It is neither stored nor compared.
	Follows int
	// Since, if it is above 0, has the store set NewSession: the run begins a session unless a run from the turn Since on
	// was admitted to begin one. The transaction that assigns the turn decides it. Since is not stored, and a repeat is
	// recognised whatever was decided.
	Since int
	// Past precedes the Input if the run is the conversation's first, and is ignored otherwise. The transaction that
	// assigns the turn decides it.
	Past []event.Message
	// Incarnation distinguishes conversations that reuse one ID. A run of one with a tombstone ([Catalog].Tombstone) is
	// ErrNotFound. It is neither stored nor compared; empty is not checked.
	Incarnation string

	// The store sets the fields below; Admit ignores them in its argument.

	// Turn numbers the conversation's runs from 1.
	Turn int
	// Session is the number of the session in which the run has begun, from 1; 0 if it has not begun.
	Session int
	// First is the Seq of the run's first event; 0 if it has not begun. Due and FindRuns may leave it 0.
	First  int64
	Status event.RunStatus
	// WakeAt is when a waiting run is due again. Zero means that only mail makes it due.
	WakeAt time.Time
	// Cancelled is set once MailCancel was posted.
	Cancelled bool
	// Admitted is the store's clock at admission.
	Admitted time.Time
	// Lost counts the drivers that the run has lost since its last progress. Acquire adds one if it takes over a lease that
	// was not given back, and a commit that [Progresses] sets it to 0.
	Lost int
	// Failure is the kind of the error that ended a failed run; empty for every other run.
	Failure event.ErrorKind
}

// SettingsLabel is the key in a run's Metadata that holds the settings which the run has for itself, such as limits and
// instructions. The driver of the run obeys them. The root's options write it.
const SettingsLabel = "braid.settings"

// ContinuesLabel is the key in a run's Metadata that names the ended run that it continues. It goes with a run without
// input. An agent that resumes a failed run sets it, and so does an engine that admits such a run.
const ContinuesLabel = "braid.continues"
