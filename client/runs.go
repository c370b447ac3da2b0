package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/wire/native"
)

// RunOptions are options of a run. The zero value has the defaults.
type RunOptions struct {
	// Executor is a label for logs and usage. It is never an identity.
	Executor string
	// Tokens are for the run's tools. The server keeps them in memory, for the run only.
	Tokens          map[string]secret.Secret
	PreferredSkills []string
	// Model names the model. Empty means the server's default.
	Model  string
	Limits Limits
	// OutputSchema requests output that is JSON of this schema.
	OutputSchema json.RawMessage
	// Instructions, ModelOptions and ToolChoice are for this run alone. The server refuses those that the tenant's policy
	// does not allow.
	Instructions string
	ModelOptions Settings
	ToolChoice   ToolChoice
	// Policy says what happens if a run is open: "reject", "queue", "steer" or "interrupt". Empty
	// means reject.
	Policy string
	// CancelOnDisconnect cancels the run when its stream is cut. It is for clients that cannot
	// reconnect.
	CancelOnDisconnect bool
	Metadata           map[string]string
	Attachments        []Attachment
	// Key makes the request idempotent. Empty means that the client makes a key.
	Key string
	// Ask answers the run's questions. Without it they are yielded as frames, and [Client.Run]
	// returns while the run waits.
	Ask func(ctx context.Context, q *native.Question) (any, error)
	// Place, if set, is kept at the id of the last frame, for [Client.Attach] in another process.
	Place *string
}

// ToolChoice is what the model must do with its tools in one run.
type ToolChoice struct {
	// Mode is "any" or "one", which hold for the first model call, or "none", which holds for all. Empty leaves the choice
	// to the model.
	Mode string `json:"mode,omitempty"`
	// Tool names the tool to call, for "one".
	Tool string `json:"tool,omitempty"`
	// Serial asks for at most one call in an answer.
	Serial bool `json:"serial,omitempty"`
}

// Limits are limits of a run. 0 means the server's.
type Limits struct {
	Cycles      int           `json:"max_turns,omitempty"`
	ToolCalls   int           `json:"max_tool_calls,omitempty"`
	TotalTokens int64         `json:"max_total_tokens,omitempty"`
	Time        time.Duration `json:"-"`

	InputTokens  int64 `json:"max_input_tokens,omitempty"`
	OutputTokens int64 `json:"max_output_tokens,omitempty"`
	// CostUSD is in dollars. The server refuses it if a price is unknown.
	CostUSD float64 `json:"max_cost_usd,omitempty"`
	// Conversation limits all runs of the conversation together.
	Conversation Budget `json:"conversation,omitzero"`
}

// Budget limits all runs of a conversation together, including earlier ones. 0 means only the
// server's limits.
type Budget struct {
	Cycles       int     `json:"max_cycles,omitempty"`
	ToolCalls    int     `json:"max_tool_calls,omitempty"`
	InputTokens  int64   `json:"max_input_tokens,omitempty"`
	OutputTokens int64   `json:"max_output_tokens,omitempty"`
	TotalTokens  int64   `json:"max_total_tokens,omitempty"`
	CostUSD      float64 `json:"max_cost_usd,omitempty"`
	// Seconds limits the active time of the runs.
	Seconds int `json:"timeout_seconds,omitempty"`
}

// Attachment is a file with the input. It has one of Data, Path and URL.
type Attachment struct {
	// Type is "image", "document", "audio" or "video". Empty lets the bytes decide.
	Type string `json:"type,omitempty"`
	// MIME must fit the bytes. Empty lets them decide.
	MIME string `json:"mime_type,omitempty"`
	Name string `json:"name,omitempty"`
	Data []byte `json:"data,omitempty"`
	// Path names a file of the conversation's workspace. Type and MIME are empty then.
	Path string `json:"path,omitempty"`
	// URL is the address of a recording, which the model's provider fetches.
	URL string `json:"url,omitempty"`
}

// limits is the JSON form of Limits.
type limits struct {
	Limits

	Seconds int `json:"timeout_seconds,omitempty"`
}

// runBody is the request body.
type runBody struct {
	UserInput       string            `json:"user_input,omitempty"`
	Executor        string            `json:"executor,omitempty"`
	Tokens          map[string]string `json:"tokens,omitempty"`
	PreferredSkills []string          `json:"preferred_skills,omitempty"`
	Model           string            `json:"model,omitempty"`
	Limits          limits            `json:"limits,omitzero"`
	OutputSchema    json.RawMessage   `json:"output_schema,omitempty"`
	Instructions    string            `json:"instructions,omitempty"`
	ModelOptions    Settings          `json:"model_options,omitzero"`
	ToolChoice      ToolChoice        `json:"tool_choice,omitzero"`
	Policy          string            `json:"policy,omitempty"`
	OnDisconnect    string            `json:"on_disconnect,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	Attachments     []Attachment      `json:"attachments,omitempty"`
}

func (o *RunOptions) body(input string) ([]byte, error) {
	b := runBody{
		UserInput: input, Executor: o.Executor, PreferredSkills: o.PreferredSkills, Model: o.Model,
		Limits: limits{o.Limits, int((o.Limits.Time + time.Second - 1) / time.Second)}, OutputSchema: o.OutputSchema, Policy: o.Policy,
		Metadata: o.Metadata, Attachments: o.Attachments, Instructions: o.Instructions, ModelOptions: o.ModelOptions, ToolChoice: o.ToolChoice,
	}
	if o.CancelOnDisconnect {
		b.OnDisconnect = "cancel"
	}
	if len(o.Tokens) > 0 {
		b.Tokens = make(map[string]string, len(o.Tokens))
		for name, t := range o.Tokens {
			b.Tokens[name] = t.Reveal()
		}
	}
	data, err := json.Marshal(b)
	if err != nil {
		return nil, invalid("what is to be sent has no JSON form", err)
	}
	return data, nil
}

// Run is a run as the server returns it.
type Run struct {
	RunState

	Agent    string            `json:"agent,omitempty"`
	Executor string            `json:"executor,omitempty"`
	Metadata map[string]string `json:"metadata"`
	// SessionID is the run's session, once it has begun.
	SessionID string    `json:"session_id,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// WakeAt is when a waiting run goes on by itself.
	WakeAt time.Time `json:"wake_at,omitzero"`
	// CancelRequested is set if a running run was cancelled and has not ended yet.
	CancelRequested bool `json:"cancel_requested,omitempty"`
	// Result or Error is set once the run has ended.
	Result *native.Result `json:"result,omitempty"`
	Error  *native.Error  `json:"error,omitempty"`
}

// Run runs the conversation's agent on the input and waits for the end. It returns an error for a
// failed run. For a cancelled run, or one that reached a limit or its deadline, it returns an error
// and the result. If the run waits for an answer that Ask does not give, it returns without an
// error: the Status is waiting, [Client.Questions] lists the questions, and [Client.Attach]
// continues.
func (c *Client) Run(ctx context.Context, conversation, input string, o RunOptions) (*native.Result, error) {
	return outcome(c.Stream(ctx, conversation, input, o), o.Ask != nil)
}

// outcome reads frames until the run ends or asks a question that nobody answers.
func outcome(frames iter.Seq2[native.Frame, error], asks bool) (*native.Result, error) {
	waiting := &native.Result{Errors: []string{}, End: native.End{Status: event.RunWaiting, StopReason: event.StopQuestion}}
	for f, err := range frames {
		if err != nil {
			return nil, err
		}
		switch f := f.(type) {
		case *native.Init:
			waiting.RunID, waiting.Turn, waiting.SessionID, waiting.Simulated = f.RunID, f.Turn, f.SessionID, f.Simulated
		case *native.Message:
			if f.Parent == "" {
				waiting.Result = f.Text
			}
		case *native.Question:
			if !asks {
				return waiting, nil
			}
		case *native.Result:
			if f.Error != nil {
				e := f.Error.Err()
				e.Op = "run"
				return f, e
			}
			return f, nil
		}
	}
	return nil, &event.Error{Op: "run", Kind: event.ErrUnavailable, Message: "the stream ended before the run did", Hint: "read the run with GetRun"}
}

// Stream runs the conversation's agent on the input and yields the frames of the run up to the
// terminal one, each durable frame once. It reconnects after every cut. Leaving the loop leaves the
// run: it goes on unless CancelOnDisconnect is set or [Client.Cancel] is called.
//
// An error is the last thing that it yields. For a failed run its *[native.Error] comes with it.
func (c *Client) Stream(ctx context.Context, conversation, input string, o RunOptions) iter.Seq2[native.Frame, error] {
	if o.Key == "" {
		o.Key = rand.Text()
	}
	return func(yield func(native.Frame, error) bool) {
		body, err := o.body(input)
		if err != nil {
			yield(nil, err)
			return
		}
		s := &stream{client: c, ctx: ctx, conversation: conversation, body: body, key: o.Key, ask: o.Ask, place: o.Place, yield: yield}
		s.follow()
	}
}

// Attach yields the frames of an existing run after the frame with this id, up to the terminal one;
// see [Client.Stream]. "" means the beginning of the run.
func (c *Client) Attach(ctx context.Context, conversation, run, after string, o FollowOptions) iter.Seq2[native.Frame, error] {
	return func(yield func(native.Frame, error) bool) {
		s := &stream{client: c, ctx: ctx, conversation: conversation, run: run, last: after, ask: o.Ask, place: o.Place, yield: yield}
		s.follow()
	}
}

// FollowOptions are options of streams of existing runs.
type FollowOptions struct {
	// Ask is as in [RunOptions].
	Ask func(ctx context.Context, q *native.Question) (any, error)
	// Place is as in [RunOptions].
	Place *string
}

// Follow yields the frames of all runs of a conversation after the frame with this id, including
// future ones. "" means the beginning. It ends when ctx ends or the loop is left.
func (c *Client) Follow(ctx context.Context, conversation, after string, o FollowOptions) iter.Seq2[native.Frame, error] {
	return func(yield func(native.Frame, error) bool) {
		s := &stream{
			client: c, ctx: ctx, conversation: conversation, last: after, endless: true, ask: o.Ask, place: o.Place, yield: yield,
		}
		s.follow()
	}
}

// Start starts a run and returns at once. [Client.Attach] follows it.
func (c *Client) Start(ctx context.Context, conversation, input string, o RunOptions) (RunState, error) {
	body, err := o.body(input)
	if err != nil {
		return RunState{}, err
	}
	if o.Key == "" {
		o.Key = rand.Text()
	}
	s := &stream{client: c, ctx: ctx, conversation: conversation, body: body, key: o.Key}
	return s.start()
}

// Runs lists all of a conversation's runs in their order. It reads them page by page.
func (c *Client) Runs(ctx context.Context, conversation string) ([]Run, error) {
	var all []Run
	for after := 0; ; {
		var page struct {
			data[Run]
			Last    int  `json:"last"`
			HasMore bool `json:"has_more"`
		}
		query := url.Values{"after": {strconv.Itoa(after)}, "limit": {"1000"}}
		if err := c.to(ctx, http.MethodGet, query, nil, &page, conversation, "runs"); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if !page.HasMore || page.Last <= after {
			return all, nil
		}
		after = page.Last
	}
}

// Retry continues a failed run with a new run, at the step that failed, and waits for the end as
// [Client.Run] does. The new run sees the failed one's messages and results and repeats no finished
// step. Unset options default to those of the failed run; attachments and a policy are errors. Only
// the conversation's newest run can be continued, and only if it failed or a limit ended it. Others
// are [event.ErrConflict] with the code RUN_NOT_RETRYABLE.
func (c *Client) Retry(ctx context.Context, conversation, run string, o RunOptions) (*native.Result, error) {
	return outcome(c.RetryStream(ctx, conversation, run, o), o.Ask != nil)
}

// RetryStream is [Client.Retry] as a stream, like [Client.Stream].
func (c *Client) RetryStream(ctx context.Context, conversation, run string, o RunOptions) iter.Seq2[native.Frame, error] {
	if o.Key == "" {
		o.Key = rand.Text()
	}
	return func(yield func(native.Frame, error) bool) {
		body, err := o.body("")
		if err == nil && !plain(run) {
			err = nothing()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		s := &stream{
			client: c, ctx: ctx, conversation: conversation, continues: run, body: body, key: o.Key, ask: o.Ask, place: o.Place, yield: yield,
		}
		s.follow()
	}
}

// GetRun returns a run, with its result once it has ended.
func (c *Client) GetRun(ctx context.Context, conversation, run string) (Run, error) {
	var out Run
	err := c.to(ctx, http.MethodGet, nil, nil, &out, conversation, "runs", run)
	return out, err
}

// Cancel requests the end of a run. The run's stream reports the end. It returns
// [event.ErrConflict] if the run has ended.
func (c *Client) Cancel(ctx context.Context, conversation, run string) error {
	return c.to(ctx, http.MethodPost, nil, nil, nil, conversation, "runs", run, "cancel")
}
