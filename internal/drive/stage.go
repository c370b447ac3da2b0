package drive

// stage names one stage around a tool call. Stages combine to a set.
type stage uint16

// The stages, in the order in which a call passes them. The tool runs between stageInput and stageFit.
const (
	// stageBeforeHooks calls the hooks before the call.
	stageBeforeHooks stage = 1 << iota
	// stagePermissions asks the agent's policies, and the user where a policy says so.
	stagePermissions
	// stageInput refuses unknown tools and arguments that are not JSON.
	stageInput
	// stageFit makes the result one that the log can keep, and bounds its size.
	stageFit
	// stageGuardrails passes the result through the guardrails at results.
	stageGuardrails
	// stageAfterHooks calls the hooks after the call. What they return is fitted and guarded again.
	stageAfterHooks
	// stageRetry makes a failed call again, where a hook or the tool's retry policy asks for it.
	stageRetry
	// stageState applies updates of the state to its newest values, and writes what the call has set.
	stageState
	// stageOffload shortens what the model is shown of a large result.
	stageOffload
)

// The stages that some ends leave out, beside those that fixed words of Braid's own leave out, which are all.
const (
	// A refused call has no result of its own: its words are short, and repeating it would refuse it again.
	skipRefused = stageFit | stageRetry | stageOffload
	// An agent that is used as a tool is not called again: its model calls have their own retries.
	skipAgent = stageRetry
	// Where a tool could not say what became of an earlier attempt, no hook can mend that.
	skipUnknown = stageAfterHooks
)
