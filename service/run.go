package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/live"
	"github.com/braidrun/braid/secret"
)

// RunRequest asks for a run.
type RunRequest struct {
	// Input is what the person said; Attachments come with it.
	Input       string
	Attachments []event.Block
	// Executor is a label for logs and usage, never an identity.
	Executor string
	// Tokens fill the placeholders of tool servers' headers. They are kept in memory
	// for the run only.
	Tokens map[string]secret.Secret
	// Skills are those to prefer.
	Skills []string
	Model  string
	Limits RunLimits
	// OutputSchema is the JSON schema of the answer; nil means free text.
	OutputSchema json.RawMessage
	// Policy says what becomes of it while a run is open; empty means reject.
	Policy   braid.Policy
	Metadata map[string]string
	// Key makes the request idempotent in its conversation; empty means none.
	Key string
	// Trace is the place in a distributed trace that the run belongs to, as [TraceOf] gives it;
	// empty for none.
	Trace string
	// Watch asks for a follower that sees the run from its beginning.
	Watch bool
}

// RunLimits bound a run; zero fields mean the service's own bounds.
type RunLimits struct {
	Cycles      int
	ToolCalls   int
	TotalTokens int64
	Time        time.Duration

	// A limit in money is refused where a model's price is not known.
	InputTokens  int64 `json:"input_tokens,omitzero"`
	OutputTokens int64 `json:"output_tokens,omitzero"`
	CostNanoUSD  int64 `json:"cost_nano_usd,omitzero"`
	// Conversation bounds all runs of the conversation together, those before this one counted.
	Conversation braid.Budget `json:"conversation,omitzero"`
}

// negative reports whether a bound is one that nothing can keep to.
func (l *RunLimits) negative() bool {
	c := &l.Conversation
	return min(int64(l.Cycles), int64(l.ToolCalls), l.TotalTokens, int64(l.Time), l.InputTokens, l.OutputTokens, l.CostNanoUSD,
		int64(c.Cycles), int64(c.ToolCalls), c.InputTokens, c.OutputTokens, c.TotalTokens, c.CostNanoUSD, int64(c.Scopes), int64(c.Active)) < 0
}

// Started says what became of a request for a run.
type Started struct {
	// Run is the run that answers.
	Run journal.Run
	// Joined says that the input was left for a run that was open.
	Joined bool
	// After is the Seq of an event before which the run had none: who follows from
	// there misses nothing of it.
	After int64
	// Follower follows from After, and has since before the run was accepted. The
	// caller closes it. It is nil where none was asked for, and where the run that
	// answers was there before: then it is to be followed like any other.
	Follower *live.Follower
	// Titled says that the conversation had a title.
	Titled bool
}

// codeKeyReused is the Code of the error for a key that came with another request.
const codeKeyReused = "IDEMPOTENCY_MISMATCH"

// KeyReused reports whether err says that an idempotency key was used for another
// request before.
func KeyReused(err error) bool {
	e, ok := errors.AsType[*event.Error](err)
	return ok && e.Code == codeKeyReused
}

// StartRun accepts a run: once it has, the run is in the journal and will be driven,
// whatever dies. With the policy reject it waits a little for an open run to end;
// then the answer is [event.ErrLocked] with RetryAfter.
func (s *Service) StartRun(ctx context.Context, p Principal, conversation string, r RunRequest) (Started, error) {
	const op = "start run"
	changes := s.changes.Load()
	row, err := s.row(ctx, p, op, conversation)
	if err == nil {
		err = row.takesRuns(op)
	}
	if err != nil {
		return Started{}, err
	}
	run, agent, err := s.prepare(ctx, p, &row, &r)
	if err != nil {
		return Started{}, err
	}
	after, err := s.before(ctx, conversation)
	if err != nil {
		return Started{}, err
	}
	var follower *live.Follower
	if r.Watch {
		// Before the run is there, so that nothing of it must be read back.
		if follower, err = s.follow(ctx, p, conversation, live.FollowOptions{After: after, Current: true}); err != nil {
			return Started{}, err
		}
	}
	started, err := s.accept(ctx, &entry{row, changes, run}, r.Policy, r.Tokens, agent)
	started.After, started.Titled = after, row.Title != ""
	switch {
	case err == nil && !started.Joined && started.Run.ID == run.ID:
		started.Follower = follower
	case follower != nil:
		follower.Close()
	}
	if started.Run.ID != run.ID && started.Run.Status.Ended() {
		started.After = 0 // it is replayed
	}
	return started, err
}

// accept has a run admitted that is ready to be.
func (s *Service) accept(
	ctx context.Context, in *entry, policy braid.Policy, tokens map[string]secret.Secret, agent *braid.Agent,
) (Started, error) {
	const op = "start run"
	run := in.run
	s.tokens.put(run.ID, tokens)
	started, err := s.admit(ctx, agent, in, policy)
	if errors.Is(err, event.ErrConflict) && run.Key != "" {
		// What was asked for is the same, but the conversation is not any more: the
		// first request began a session, or had a fork's history before its input.
		started, err = s.again(ctx, run, err)
	}
	if err != nil || started.Run.ID != run.ID {
		s.tokens.drop(run.ID)
	}
	switch {
	case errors.Is(err, event.ErrConflict) && run.Key != "" && !isArchived(err):
		return Started{}, keyReused(op)
	case err != nil:
		return Started{}, err
	case !started.Joined && started.Run.Metadata[keyBody] != run.Metadata[keyBody]:
		return Started{}, keyReused(op)
	}
	return started, nil
}

// again finds the run that a key was used for.
func (s *Service) again(ctx context.Context, run journal.Run, refused error) (Started, error) {
	lister, ok := s.options.Journal.(journal.Lister)
	if !ok {
		return Started{}, refused
	}
	runs, err := lister.Runs(ctx, run.Conversation, 0, 0)
	if err != nil {
		return Started{}, err
	}
	for i := range runs {
		if runs[i].Key == run.Key && runs[i].Metadata[keyBody] == run.Metadata[keyBody] {
			return Started{Run: runs[i]}, nil
		}
	}
	return Started{}, refused
}

func keyReused(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Code: codeKeyReused, Message: "the idempotency key came with another request before",
		Hint: "use a new key for a new request",
	}
}

// prepare makes the run's row and sees that there is an agent for it.
func (s *Service) prepare(ctx context.Context, p Principal, row *Row, r *RunRequest) (journal.Run, *braid.Agent, error) {
	const op = "start run"
	if strings.TrimSpace(r.Input) == "" && len(r.Attachments) == 0 {
		return journal.Run{}, nil, invalid(op, "the input is empty", "say something in user_input")
	}
	if !utf8.ValidString(r.Input) || !utf8.ValidString(r.Executor) || !utf8.ValidString(r.Model) || !utf8.ValidString(r.Key) {
		return journal.Run{}, nil, invalid(op, "the request is not valid UTF-8", "convert it to UTF-8 first")
	}
	if err := r.checkWords(op); err != nil {
		return journal.Run{}, nil, err
	}
	if err := checkMetadata(op, r.Metadata); err != nil {
		return journal.Run{}, nil, err
	}
	if r.Limits.negative() {
		return journal.Run{}, nil, invalid(op, "a limit is negative", "leave it out for the service's own bound")
	}
	content := make([]event.Block, 0, 1+len(r.Attachments))
	if strings.TrimSpace(r.Input) != "" {
		content = append(content, &event.Text{Text: r.Input})
	}
	content = append(content, r.Attachments...)
	body, err := r.digest(content)
	if err != nil {
		return journal.Run{}, nil, invalid(op, "the input cannot be kept", "look at the attachments")
	}
	metadata, err := r.keep(body)
	if err != nil {
		return journal.Run{}, nil, err
	}
	run := journal.Run{
		ID: newID(runPrefix), Conversation: row.ID, Tenant: p.Tenant, User: p.User, Agent: agentOnTurn,
		Input: []event.Message{{Role: event.RoleUser, Content: content}}, Key: r.Key, Executor: r.Executor, Metadata: metadata,
	}
	request := s.request(&run)
	request.Tokens = r.Tokens
	agent, err := s.options.Agent(ctx, request)
	if err == nil {
		err = agent.Err()
	}
	if err != nil {
		return journal.Run{}, nil, unusable(err)
	}
	run.Agent = agent.Name()
	return run, agent, nil
}

// The bounds of the words of a request: they stand in every row of its run.
const (
	maxWord       = 200
	maxSkills     = 64
	maxTokens     = 64
	maxTokenBytes = 16 << 10
)

// checkWords looks at what is neither input nor metadata.
func (r *RunRequest) checkWords(op string) error {
	long := func(what string) error {
		return invalid(op, what+" is too long, or no text", "send at most 200 bytes of UTF-8")
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
			return invalid(op, "a token has no name, or is too long", "send names of at most 200 bytes and tokens of at most 16 KiB")
		}
	}
	return nil
}

// digest is what two requests of one key must have in common.
func (r *RunRequest) digest(content []event.Block) (string, error) {
	blocks, err := event.AppendBlocks(nil, content)
	if err != nil {
		return "", err
	}
	same, err := json.Marshal(struct { //nolint:musttag // limits are only compared
		Content      json.RawMessage   `json:"content"`
		Executor     string            `json:"executor"`
		Skills       []string          `json:"skills"`
		Model        string            `json:"model"`
		Limits       RunLimits         `json:"limits"`
		OutputSchema json.RawMessage   `json:"output_schema,omitempty"`
		Policy       braid.Policy      `json:"policy"`
		Metadata     map[string]string `json:"metadata"`
	}{blocks, r.Executor, r.Skills, r.Model, r.Limits, r.OutputSchema, r.Policy, r.Metadata})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(same)
	return hex.EncodeToString(sum[:16]), nil
}

// begun reports whether the conversation has had a run.
func (s *Service) begun(ctx context.Context, conversation string) (bool, error) {
	open, err := s.queue(ctx, conversation)
	if err != nil || len(open) > 0 {
		return true, err
	}
	events, err := s.options.Journal.Read(ctx, conversation, 0, 1)
	return len(events) > 0, err
}

// before is the Seq of an event that stands before whatever is begun now: where the
// conversation is in use the last one that was seen, else its last one.
func (s *Service) before(ctx context.Context, conversation string) (int64, error) {
	if seq := s.warm.seen(conversation); seq > 0 {
		return seq, nil
	}
	return s.end(ctx, conversation)
}

// end is the Seq of the conversation's last event.
func (s *Service) end(ctx context.Context, conversation string) (int64, error) {
	if t, ok := s.options.Journal.(journal.Tailer); ok {
		tail, err := t.Tail(ctx, conversation)
		return tail.Last, err
	}
	events, err := s.options.Journal.Read(ctx, conversation, 0, 0)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return events[len(events)-1].Seq, nil
}

// admit has the run accepted under its policy.
func (s *Service) admit(ctx context.Context, agent *braid.Agent, in *entry, policy braid.Policy) (Started, error) {
	submit := func(run journal.Run) (journal.Run, error) { return s.engine.Submit(ctx, run) }
	switch policy {
	case "", braid.Reject:
		in.run.Alone = true
		return s.admitAlone(ctx, in)
	case braid.Queue:
		row, err := s.pass(ctx, in, submit)
		return Started{Run: row}, err
	case braid.Interrupt:
		row, err := s.pass(ctx, in, submit)
		if err != nil {
			return Started{}, err
		}
		return Started{Run: row}, s.interrupt(ctx, row)
	case braid.Steer:
		var started Started
		_, err := s.pass(ctx, in, func(run journal.Run) (_ journal.Run, err error) {
			started, err = s.steer(ctx, agent, run)
			row := started.Run
			if !started.Joined {
				row.ID = run.ID // it was given another one
			}
			return row, err
		})
		return started, err
	default:
		return Started{}, invalid("start run", "there is no such policy", "use reject, queue, steer or interrupt")
	}
}

// admitAlone waits for an open run to end, as long as it may.
func (s *Service) admitAlone(ctx context.Context, in *entry) (Started, error) {
	submit := func(run journal.Run) (journal.Run, error) { return s.engine.Submit(ctx, run) }
	run := in.run
	row, err := s.pass(ctx, in, submit)
	if !errors.Is(err, event.ErrLocked) || s.options.LockWait < 0 {
		return Started{Run: row}, locked(err)
	}
	w, watchErr := s.bus.Watch(ctx, live.Key{Tenant: run.Tenant, Conversation: run.Conversation})
	if watchErr != nil {
		return Started{}, watchErr
	}
	defer w.Close()
	wait, stop := context.WithTimeout(ctx, s.options.LockWait)
	defer stop()
	for {
		row, err = s.pass(ctx, in, submit)
		if !errors.Is(err, event.ErrLocked) {
			return Started{Run: row}, err
		}
		if gaveUp := runEnds(wait, w); gaveUp != nil {
			if ctx.Err() != nil {
				return Started{}, gaveUp
			}
			return Started{}, locked(err)
		}
	}
}

// runEnds waits until a run may have ended: the bus says so, or some time is past.
func runEnds(ctx context.Context, w live.Watcher) error {
	soon, stop := context.WithTimeout(ctx, 500*time.Millisecond)
	defer stop()
	var items [32]live.Item
	for {
		n, err := w.Read(soon, items[:])
		if err != nil {
			if ctx.Err() == nil && errors.Is(err, event.ErrTimeout) {
				return nil
			}
			return err
		}
		for _, item := range items[:n] {
			if item.Event == nil {
				return nil
			}
			if _, ok := item.Event.Body.(*event.RunEnded); ok {
				return nil
			}
		}
	}
}

// locked says when to come again.
func locked(err error) error {
	if !errors.Is(err, event.ErrLocked) {
		return err
	}
	return &event.Error{
		Op: "start run", Kind: event.ErrLocked, Message: "another run of the conversation is open",
		Hint: "wait for it, cancel it, or send a policy: queue, steer or interrupt", RetryAfter: 5 * time.Second, Err: err,
	}
}

// interrupt ends what is open before the run.
func (s *Service) interrupt(ctx context.Context, row journal.Run) error {
	open, err := s.queue(ctx, row.Conversation)
	if err != nil {
		return err
	}
	for i := range open {
		if open[i].Turn >= row.Turn {
			break
		}
		if err := s.engine.Cancel(ctx, open[i], row.User); err != nil && !errors.Is(err, event.ErrConflict) {
			return err
		}
	}
	return nil
}

// steer leaves the input for the open run.
func (s *Service) steer(ctx context.Context, agent *braid.Agent, run journal.Run) (Started, error) {
	conv := braid.Open(s.options.Journal, run.Conversation)
	opts := []braid.RunOption{
		braid.During(braid.Steer), braid.Key(run.Key), braid.For(run.Tenant, run.User), braid.Executor(run.Executor),
		braid.Metadata(run.Metadata),
	}
	if run.NewSession {
		opts = append(opts, braid.NewSession())
	}
	sent, err := agent.Send(ctx, conv, run.Input, opts...)
	if err != nil {
		return Started{}, err
	}
	if sent.Joined {
		row := journal.Run{ID: sent.Run, Conversation: run.Conversation, Tenant: run.Tenant, Turn: sent.Turn, Status: sent.Status}
		return Started{Run: row, Joined: true}, s.engine.Wake(ctx, row)
	}
	// It is admitted: the engine is told, and where it does not hear, a sweep finds it.
	s.tokens.move(run.ID, sent.Run)
	run.ID = sent.Run
	row, err := s.engine.Submit(ctx, run)
	return Started{Run: row}, err
}

// GetRun gives a run as it stands.
func (s *Service) GetRun(ctx context.Context, p Principal, conversation, run string) (journal.Run, error) {
	if _, err := s.row(ctx, p, "run", conversation); err != nil {
		return journal.Run{}, err
	}
	// One that is open is asked for most, and found without looking at all that were.
	open, err := s.queue(ctx, conversation)
	if err != nil {
		return journal.Run{}, err
	}
	if i := slices.IndexFunc(open, func(r journal.Run) bool { return r.ID == run }); i >= 0 {
		open[i].Metadata = hidden(open[i].Metadata)
		return open[i], nil
	}
	runs, err := s.ListRuns(ctx, p, conversation, 0, 0)
	if err != nil {
		return journal.Run{}, err
	}
	i := slices.IndexFunc(runs, func(r journal.Run) bool { return r.ID == run })
	if i < 0 {
		return journal.Run{}, notFound("run", "run")
	}
	return runs[i], nil
}

// ListRuns lists a conversation's runs by their turn: those behind the turn after, at
// most limit of them; limit ≤ 0 means all.
func (s *Service) ListRuns(ctx context.Context, p Principal, conversation string, after, limit int) ([]journal.Run, error) {
	if _, err := s.row(ctx, p, "runs", conversation); err != nil {
		return nil, err
	}
	lister, ok := s.options.Journal.(journal.Lister)
	if !ok {
		return nil, &event.Error{Op: "runs", Kind: event.ErrUnsupported, Message: "this journal cannot list runs"}
	}
	runs, err := lister.Runs(ctx, conversation, after, limit)
	for i := range runs {
		runs[i].Metadata = hidden(runs[i].Metadata)
	}
	return runs, err
}

// CancelRun asks for a run to end. For one that has ended it is [event.ErrConflict].
func (s *Service) CancelRun(ctx context.Context, p Principal, conversation, run string) error {
	if _, err := s.row(ctx, p, "cancel", conversation); err != nil {
		return err
	}
	row, err := s.GetRun(ctx, p, conversation, run)
	if err != nil {
		return err
	}
	return s.engine.Cancel(ctx, row, p.User)
}

// Questions lists what the conversation's waiting run wants to know.
func (s *Service) Questions(ctx context.Context, p Principal, conversation string) ([]braid.Question, error) {
	if _, err := s.row(ctx, p, "questions", conversation); err != nil {
		return nil, err
	}
	return braid.Open(s.options.Journal, conversation).Questions(ctx)
}

// Answer answers an open question, once. The run goes on.
func (s *Service) Answer(ctx context.Context, p Principal, conversation, token string, value json.RawMessage) (journal.Run, error) {
	const op = "answer"
	if _, err := s.row(ctx, p, op, conversation); err != nil {
		return journal.Run{}, err
	}
	open, err := s.queue(ctx, conversation)
	if err != nil {
		return journal.Run{}, err
	}
	if err := braid.Open(s.options.Journal, conversation).AnswerAs(ctx, p.User, token, value); err != nil {
		return journal.Run{}, err
	}
	if len(open) == 0 {
		return journal.Run{}, notFound(op, "question")
	}
	return open[0], s.engine.Wake(ctx, open[0])
}

func (b *tokenBox) move(from, to string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t, ok := b.runs[from]; ok && from != to {
		b.runs[to] = t
		delete(b.runs, from)
	}
}
