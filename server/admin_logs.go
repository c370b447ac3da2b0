package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

func (s *Server) listAudit(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "action", "object", "cursor", "limit")
	if err != nil {
		return err
	}
	limit, err := number(values, "limit", directory.MostPage)
	if err != nil {
		return err
	}
	list, next, err := s.options.Directory.Audit(r.Context(), tenantOf(r), directory.AuditQuery{
		Action: values["action"], Object: values["object"], Cursor: values["cursor"], Limit: int(limit),
	})
	if err != nil {
		return err
	}
	return answerPage(w, list, next)
}

func (s *Server) verifyAudit(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	v, err := s.options.Directory.VerifyAudit(r.Context(), tenantOf(r))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, v)
	return nil
}

// listTenantConversations lists a tenant's conversations for its administrator. It is audited
// like reading messages, because titles quote users.
func (s *Server) listTenantConversations(w http.ResponseWriter, r *http.Request) error {
	list, next, err := s.conversationsOf(r, ofTenant(r))
	if err != nil {
		return err
	}
	return s.audited(r, "conversations.read", "tenant/"+tenantOf(r), len(list), func() error { return answerPage(w, list, next) })
}

// tokensBody holds the four token counts that providers charge for.
type tokensBody struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// usageBody is the usage of one attempt of a model call.
type usageBody struct {
	tokensBody

	Conversation string `json:"conversation_id"`
	Run          string `json:"run_id"`
	Turn         int    `json:"turn"`
	Executor     string `json:"executor,omitempty"`
	// User is the user of the run; empty if the run has none, and in rows of earlier versions.
	User string            `json:"user,omitempty"`
	Kind journal.UsageKind `json:"kind"`
	// ToolUseID and SubagentType identify a sub-agent; they are empty for the main agent.
	ToolUseID    string `json:"tool_use_id,omitempty"`
	SubagentType string `json:"subagent_type,omitempty"`
	Model        string `json:"model"`
	// CostUSD is a decimal in dollars; null if unknown.
	CostUSD *pricing.NanoUSD `json:"cost_usd"`
	// Estimated means that the call was interrupted and the provider may charge more.
	Estimated bool            `json:"estimated,omitempty"`
	Attempt   int             `json:"attempt"`
	Status    event.Outcome   `json:"status"`
	RunStatus event.RunStatus `json:"run_status"`
	Time      time.Time       `json:"time"`
}

// sumBody is the usage of many calls.
type sumBody struct {
	tokensBody

	// Key is the value that the calls share: a model, a day such as 2026-11-21, …
	Key   string `json:"key"`
	Calls int64  `json:"calls"`
	// CostUSD is null if the cost of a call is unknown; KnownUSD is the total of the others.
	CostUSD  *pricing.NanoUSD `json:"cost_usd"`
	KnownUSD pricing.NanoUSD  `json:"known_cost_usd"`
	Unpriced int64            `json:"unpriced_calls"`
	// Estimated counts the interrupted calls, whose tokens and costs are estimates.
	Estimated int64 `json:"estimated_calls,omitempty"`
}

// toolBody is the current state of a tool call.
type toolBody struct {
	Conversation string `json:"conversation_id"`
	Run          string `json:"run_id"`
	Turn         int    `json:"turn"`
	Executor     string `json:"executor,omitempty"`
	ToolUseID    string `json:"tool_use_id"`
	// Parent is the call whose agent made this one; SubagentType is that agent.
	Parent       string             `json:"parent_tool_use_id,omitempty"`
	SubagentType string             `json:"subagent_type,omitempty"`
	Name         string             `json:"tool_name"`
	Source       string             `json:"source,omitempty"`
	Input        json.RawMessage    `json:"input,omitempty"`
	Output       json.RawMessage    `json:"output,omitempty"`
	IsError      bool               `json:"is_error"`
	Status       journal.ToolStatus `json:"status"`
	Attempt      int                `json:"attempt"`
	Began        time.Time          `json:"began_at"`
	Finished     *time.Time         `json:"finished_at,omitempty"`
}

// messageBody is a message of a conversation, or a part of one.
type messageBody struct {
	Seq  int64 `json:"seq"`
	Part int   `json:"part"`
	Turn int   `json:"turn"`
	// Run is empty for a message outside runs.
	Run       string `json:"run_id,omitempty"`
	Type      string `json:"type"`
	Subtype   string `json:"subtype,omitempty"`
	ToolUseID string `json:"tool_use_id,omitempty"`
	Parent    string `json:"parent_tool_use_id,omitempty"`
	// Content is absent if it was redacted.
	Content json.RawMessage `json:"content,omitempty"`
	Time    time.Time       `json:"time"`
}

// logQuery parses the parameters of a log. names are the parameters that this log accepts.
func logQuery(r *http.Request, names ...string) (q service.LogQuery, values map[string]string, err error) {
	if values, err = query(r, append(names, "cursor", "limit")...); err != nil {
		return q, nil, err
	}
	limit, err := number(values, "limit", service.MostPage)
	if err != nil {
		return q, nil, err
	}
	q = service.LogQuery{
		Conversation: values["conversation"], Run: values["run"], Executor: values["executor"], User: values["user"],
		Model: values["model"], Tool: values["tool"],
		Cursor: values["cursor"], Limit: int(limit),
	}
	for name, into := range map[string]*time.Time{"from": &q.From, "to": &q.To} {
		if text, ok := values[name]; ok {
			if *into, err = moment(name, text); err != nil {
				return q, nil, err
			}
		}
	}
	return q, values, nil
}

// ofTenant returns a principal of the address's tenant for the service.
func ofTenant(r *http.Request) service.Principal { return service.Principal{Tenant: tenantOf(r)} }

func (s *Server) listUsage(w http.ResponseWriter, r *http.Request) error {
	q, _, err := logQuery(r, "conversation", "run", "executor", "user", "model", "from", "to")
	if err != nil {
		return err
	}
	rows, next, err := s.service.Usage(r.Context(), ofTenant(r), q)
	if err != nil {
		return err
	}
	out := make([]usageBody, len(rows))
	for i := range rows {
		u := &rows[i]
		out[i] = usageBody{
			tokensBody: tokensBody(u.Tokens), Conversation: u.Conversation, Run: u.Run, Turn: u.Turn, Executor: u.Executor, User: u.User,
			Kind: u.Kind, ToolUseID: u.Call, SubagentType: u.Agent, Model: u.Model, CostUSD: (*pricing.NanoUSD)(u.CostNanoUSD),
			Estimated: u.Estimated, Attempt: u.Attempt, Status: u.Status, RunStatus: u.RunStatus, Time: u.Time,
		}
	}
	return answerPage(w, out, next)
}

func (s *Server) sumUsage(w http.ResponseWriter, r *http.Request) error {
	q, values, err := logQuery(r, "by", "conversation", "run", "executor", "user", "model", "from", "to")
	if err != nil {
		return err
	}
	by := journal.UsageBy(values["by"])
	switch by {
	case "":
		by = journal.UsageByModel
	case journal.UsageByModel, journal.UsageByConversation, journal.UsageByRun, journal.UsageByDay, journal.UsageByExecutor,
		journal.UsageByAgent, journal.UsageByKind, journal.UsageByUser:
	default:
		return front.Bad("usage cannot be grouped by that", "send by as model, day, conversation, run, executor, user, agent or kind")
	}
	sums, next, err := s.service.UsageSums(r.Context(), ofTenant(r), q, by)
	if err != nil {
		return err
	}
	out := make([]sumBody, len(sums))
	for i := range sums {
		u := &sums[i]
		out[i] = sumBody{
			tokensBody: tokensBody(u.Tokens), Key: u.Key, Calls: u.Calls, CostUSD: (*pricing.NanoUSD)(u.CostNanoUSD()),
			KnownUSD: pricing.NanoUSD(u.KnownNanoUSD), Unpriced: u.Unpriced, Estimated: u.Estimated,
		}
	}
	return answerPage(w, out, next)
}

func (s *Server) listToolCalls(w http.ResponseWriter, r *http.Request) error {
	q, _, err := logQuery(r, "conversation", "run", "executor", "tool", "from", "to")
	if err != nil {
		return err
	}
	rows, next, err := s.service.ToolLog(r.Context(), ofTenant(r), q)
	if err != nil {
		return err
	}
	out := make([]toolBody, len(rows))
	for i := range rows {
		t := &rows[i]
		out[i] = toolBody{
			Conversation: t.Conversation, Run: t.Run, Turn: t.Turn, Executor: t.Executor, ToolUseID: t.Call, Parent: t.Parent, SubagentType: t.Agent,
			Name: t.Name, Source: t.Source, Input: t.Input, IsError: t.IsError, Status: t.Status, Attempt: t.Attempt, Began: t.Began,
		}
		if len(t.Output) > 0 {
			if out[i].Output, err = event.AppendBlocks(nil, t.Output); err != nil {
				return err
			}
		}
		if !t.Finished.IsZero() {
			out[i].Finished = &t.Finished
		}
	}
	return s.audited(r, "tools.read", "tenant/"+tenantOf(r), len(out), func() error { return answerPage(w, out, next) })
}

func (s *Server) listMessages(w http.ResponseWriter, r *http.Request) error {
	q, _, err := logQuery(r, "run")
	if err != nil {
		return err
	}
	q.Conversation = r.PathValue("id")
	if _, err := s.service.GetConversation(r.Context(), ofTenant(r), q.Conversation); err != nil {
		return err
	}
	rows, next, err := s.service.MessageLog(r.Context(), ofTenant(r), q)
	if err != nil {
		return err
	}
	out := make([]messageBody, len(rows))
	for i := range rows {
		m := &rows[i]
		out[i] = messageBody{m.Seq, m.Part, m.Turn, m.Run, m.Type, m.Subtype, m.Call, m.Parent, m.Content, m.Time}
	}
	return s.audited(r, "messages.read", "conversation/"+q.Conversation, len(out), func() error { return answerPage(w, out, next) })
}

// audited records in the audit that a page of messages or tool calls was read, and then responds. It
// audits each page, because a caller can make a cursor and skip the first page.
func (s *Server) audited(r *http.Request, action, object string, rows int, answer func() error) error {
	asked := r.URL.Query()
	detail := readDetail{Rows: rows, Next: asked.Get("cursor") != ""}
	for name, into := range map[string]*string{
		"conversation": &detail.Conversation, "run": &detail.Run, "executor": &detail.Executor, "tool": &detail.Tool,
		"from": &detail.From, "to": &detail.To,
	} {
		*into = asked.Get(name)
	}
	if err := s.options.Directory.Record(r.Context(), by(r), tenantOf(r), action, object, detail); err != nil {
		return err
	}
	return answer()
}

// readDetail is the audit's detail of a read page: its number of rows and its filters. Next means
// that it was not the first page.
type readDetail struct {
	Rows         int    `json:"rows"`
	Next         bool   `json:"next,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run,omitempty"`
	Executor     string `json:"executor,omitempty"`
	Tool         string `json:"tool,omitempty"`
	From         string `json:"from,omitempty"`
	To           string `json:"to,omitempty"`
}
