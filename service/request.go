package service

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

// RunRequest is a request for a run.
type RunRequest struct {
	// Input is the user's message.
	Input string
	// Attachments come with it.
	Attachments []Attachment
	// Executor is a label for logs and usage. It is never an identity.
	Executor string
	// Tokens are for the run's tools ([tool.SecretOf]). They are kept in memory for the run only,
	// and are hidden where a tool or a model repeats them. Tokens of a message that joins an open
	// run are ignored.
	Tokens map[string]secret.Secret
	// Shown are the names of the tokens that are not secret and not hidden.
	Shown []string
	// Skills are the skills to prefer.
	Skills []string
	Model  string
	Limits RunLimits
	// Instructions, ModelOptions and ToolChoice are settings of this run alone. The tenant's policy must allow each.
	Instructions string
	ModelOptions directory.Settings
	ToolChoice   ToolChoice
	// OutputSchema is the JSON schema of the answer; nil means free text.
	OutputSchema json.RawMessage
	// Policy says what happens if a run is open. Empty means reject.
	Policy   braid.Policy
	Metadata map[string]string
	// Key makes the request idempotent within its conversation. Empty means that it is not.
	Key string
	// Trace is the parent in a distributed trace, as [TraceOf] returns it. Empty means none.
	Trace string
	// Continues names the run to continue instead of an Input. It must be the conversation's newest
	// run and have failed or reached a limit. Model, limits, schema, skills, executor and metadata
	// default to those of that run.
	Continues string
	// Watch requests a follower that sees the run from its beginning.
	Watch bool
}

// RunLimits are limits of a run. A zero field means the service's own.
type RunLimits struct {
	Cycles      int
	ToolCalls   int
	TotalTokens int64
	Time        time.Duration

	InputTokens  int64 `json:"input_tokens,omitzero"`
	OutputTokens int64 `json:"output_tokens,omitzero"`
	CostNanoUSD  int64 `json:"cost_nano_usd,omitzero"`
	// Conversation limits all runs of the conversation together, including earlier ones.
	Conversation braid.Budget `json:"conversation,omitzero"`
}

// negative reports whether a limit is negative.
func (l *RunLimits) negative() bool {
	c := &l.Conversation
	return min(int64(l.Cycles), int64(l.ToolCalls), l.TotalTokens, int64(l.Time), l.InputTokens, l.OutputTokens, l.CostNanoUSD,
		int64(c.Cycles), int64(c.ToolCalls), c.InputTokens, c.OutputTokens, c.TotalTokens, c.CostNanoUSD, int64(c.Scopes), int64(c.Active)) < 0
}

// check validates the request by itself.
func (r *RunRequest) check(op string) error {
	switch {
	case r.Continues != "" && (r.Input != "" || len(r.Attachments) > 0):
		return invalid(op, "a run that continues another one takes no input", "send the input as a new run")
	case r.Continues != "" && r.Policy != "" && r.Policy != braid.Reject:
		return invalid(op, "a run that continues another one takes no policy", "leave policy out")
	case r.Continues == "" && strings.TrimSpace(r.Input) == "" && len(r.Attachments) == 0:
		return invalid(op, "the input is empty", "set user_input")
	case !utf8.ValidString(r.Input) || !utf8.ValidString(r.Executor) || !utf8.ValidString(r.Model) || !utf8.ValidString(r.Key):
		return invalid(op, "the request is not valid UTF-8", "convert it to UTF-8 first")
	case strings.ContainsRune(r.Executor+r.Model+r.Key, 0): // not every journal can store it
		return invalid(op, "the executor, the model or the key contains a zero character", "remove it")
	case r.Limits.negative():
		return invalid(op, "a limit is negative", "leave it out for the service's own bound")
	}
	switch r.Policy {
	case "", braid.Reject, braid.Queue, braid.Steer, braid.Interrupt:
	default:
		return invalid(op, "there is no such policy", "use reject, queue, steer or interrupt")
	}
	if err := r.checkWords(op); err != nil {
		return err
	}
	if err := r.checkSettings(op); err != nil {
		return err
	}
	return checkMetadata(op, r.Metadata)
}

// These bound the words of a request, which are stored in its run's row.
const (
	maxWord       = 200
	maxSkills     = 64
	maxTokens     = 64
	maxTokenBytes = 16 << 10
)

// checkWords validates the fields other than input and metadata.
func (r *RunRequest) checkWords(op string) error {
	long := func(what string) error {
		return invalid(op, what+" is too long or not UTF-8", "send at most 200 bytes of UTF-8")
	}
	switch {
	case len(r.Executor) > maxWord:
		return long("the executor")
	case len(r.Model) > maxWord:
		return long("the model")
	case len(r.Skills) > maxSkills:
		return invalid(op, "too many skills are preferred", "name at most 64")
	case len(r.Tokens) > maxTokens:
		return invalid(op, "there are too many tokens", "send at most 64")
	}
	for _, name := range r.Skills {
		if name == "" || len(name) > maxWord || !utf8.ValidString(name) {
			return long("the name of a skill")
		}
	}
	for name, value := range r.Tokens {
		if name == "" || len(name) > maxWord || len(value.Reveal()) > maxTokenBytes {
			return invalid(op, "a token has no name or is too long", "send names of at most 200 bytes and tokens of at most 16 KiB")
		}
	}
	return nil
}

// Started is the result of a request for a run.
type Started struct {
	// Run is the run that answers.
	Run journal.Run
	// Joined reports that the input was added to an open run.
	Joined bool
	// After is the Seq of an event before the run's first one. A follower that starts there misses
	// no event of the run.
	After int64
	// Follower follows from After since before the run was accepted. The caller must close it. It
	// is nil if none was requested, or if the run existed before the request: then call
	// [Service.Follow].
	Follower *live.Follower
	// Titled reports whether the conversation had a title.
	Titled bool
}
