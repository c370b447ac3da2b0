package native

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/internal/strictjson"
)

// object appends a JSON object in one line. Every value is written with a comma
// after it; closing takes the last one away. Names that end in Opt leave a zero
// value out. Keys come with their quotes and colon: each is one copy.
type object struct{ buf []byte }

func open(dst []byte) object { return object{append(dst, '{')} }

func (o *object) close() []byte {
	o.trim()
	return append(o.buf, '}')
}

func (o *object) trim() {
	if n := len(o.buf); o.buf[n-1] == ',' {
		o.buf = o.buf[:n-1]
	}
}

func (o *object) str(key, s string) {
	o.buf = append(o.buf, key...)
	o.buf = append(strictjson.AppendString(o.buf, s), ',')
}

func (o *object) strOpt(key, s string) {
	if s != "" {
		o.str(key, s)
	}
}

func (o *object) int(key string, n int64) {
	o.buf = append(o.buf, key...)
	o.buf = append(strconv.AppendInt(o.buf, n, 10), ',')
}

func (o *object) intOpt(key string, n int64) {
	if n != 0 {
		o.int(key, n)
	}
}

func (o *object) bool(key string, b bool) {
	o.buf = append(o.buf, key...)
	o.buf = append(strconv.AppendBool(o.buf, b), ',')
}

func (o *object) boolOpt(key string, b bool) {
	if b {
		o.bool(key, b)
	}
}

// timeOpt writes a time in UTC; one that RFC 3339 cannot say is left out.
func (o *object) timeOpt(key string, t time.Time) {
	if t.IsZero() {
		return
	}
	if b, err := t.UTC().AppendText(append(append(o.buf, key...), '"')); err == nil {
		o.buf = append(b, '"', ',')
	}
}

// cost writes an amount; an unknown one is null.
func (o *object) cost(key string, f *float64) {
	o.buf = append(o.buf, key...)
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		o.buf = append(o.buf, `null,`...)
		return
	}
	o.buf = append(strconv.AppendFloat(o.buf, *f, 'f', -1, 64), ',')
}

// raw writes raw JSON without white space; what is none is null.
func (o *object) raw(key string, raw json.RawMessage) {
	o.buf = append(o.buf, key...)
	b, err := strictjson.AppendCompact(o.buf, raw, strictjson.DefaultDepth)
	if err != nil {
		b = append(o.buf, `null`...)
	}
	o.buf = append(b, ',')
}

func (o *object) rawOpt(key string, raw json.RawMessage) {
	if len(raw) > 0 {
		o.raw(key, raw)
	}
}

func (o *object) strs(key string, list []string) {
	o.buf = append(append(o.buf, key...), '[')
	for _, s := range list {
		o.buf = append(strictjson.AppendString(o.buf, s), ',')
	}
	o.end(']')
}

// end ends a list or an object inside another.
func (o *object) end(bracket byte) {
	o.trim()
	o.buf = append(o.buf, bracket, ',')
}

func (o *object) labelsOpt(key string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	o.buf = append(append(o.buf, key...), '{')
	for _, k := range slices.Sorted(maps.Keys(m)) {
		o.buf = append(strictjson.AppendString(o.buf, k), ':')
		o.str("", m[k])
	}
	o.end('}')
}

func (o *object) place(p *Place) {
	o.strOpt(`"step":`, p.Step)
	o.intOpt(`"attempt":`, int64(p.Attempt))
	o.strOpt(`"parent_tool_use_id":`, p.Parent)
}

func (o *object) usage(u *Usage) {
	o.buf = append(o.buf, `"usage":{`...)
	o.int(`"input_tokens":`, u.InputTokens)
	o.int(`"output_tokens":`, u.OutputTokens)
	o.int(`"cache_read_input_tokens":`, u.CacheReadInputTokens)
	o.int(`"cache_creation_input_tokens":`, u.CacheCreationInputTokens)
	o.intOpt(`"reasoning_tokens":`, u.ReasoningTokens)
	o.intOpt(`"total_tokens":`, u.TotalTokens)
	o.intOpt(`"web_searches":`, u.WebSearches)
	o.intOpt(`"file_searches":`, u.FileSearches)
	o.end('}')
}

func (o *object) attachmentsOpt(list []Attachment) {
	if len(list) == 0 {
		return
	}
	o.buf = append(o.buf, `"attachments":[`...)
	for i := range list {
		a := &list[i]
		o.buf = append(o.buf, '{')
		o.str(`"kind":`, a.Kind)
		o.strOpt(`"name":`, a.Name)
		o.strOpt(`"mime":`, a.MIME)
		o.strOpt(`"url":`, a.URL)
		o.intOpt(`"size":`, int64(a.Size))
		o.end('}')
	}
	o.end(']')
}

func (f *Init) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"session_id":`, f.SessionID)
	o.str(`"model":`, f.Model)
	o.int(`"turn":`, int64(f.Turn))
	o.strs(`"tools":`, f.Tools)
	o.buf = append(o.buf, `"mcp_servers":[`...)
	for _, s := range f.MCPServers {
		o.buf = append(o.buf, '{')
		o.str(`"name":`, s.Name)
		o.str(`"status":`, s.Status)
		o.strOpt(`"reason":`, s.Reason)
		o.skippedOpt(s.Skipped)
		o.end('}')
	}
	o.end(']')
	o.str(`"run_id":`, f.RunID)
	o.strOpt(`"agent":`, f.Agent)
	o.labelsOpt(`"metadata":`, f.Metadata)
	o.boolOpt(`"simulated":`, f.Simulated)
	return o.close()
}

func (o *object) skippedOpt(list []SkippedTool) {
	if len(list) == 0 {
		return
	}
	o.buf = append(o.buf, `"skipped":[`...)
	for _, t := range list {
		o.buf = append(o.buf, '{')
		o.str(`"tool":`, t.Tool)
		o.str(`"why":`, t.Why)
		o.end('}')
	}
	o.end(']')
}

func (f *TextDelta) append(dst []byte) []byte { return appendDelta(dst, f.Text, &f.Place) }

func (f *Thinking) append(dst []byte) []byte { return appendDelta(dst, f.Text, &f.Place) }

func appendDelta(dst []byte, text string, p *Place) []byte {
	o := open(dst)
	o.str(`"text":`, text)
	o.place(p)
	return o.close()
}

func (f *ToolUse) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"tool_use_id":`, f.ToolUseID)
	o.str(`"tool_name":`, f.ToolName)
	o.raw(`"tool_input":`, f.ToolInput)
	o.strOpt(`"fault":`, f.Fault)
	o.place(&f.Place)
	return o.close()
}

func (f *ToolProgress) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"tool_use_id":`, f.ToolUseID)
	o.str(`"tool_name":`, f.ToolName)
	o.strOpt(`"text":`, f.Text)
	o.rawOpt(`"data":`, f.Data)
	o.place(&f.Place)
	return o.close()
}

func (f *ToolResult) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"tool_use_id":`, f.ToolUseID)
	o.strOpt(`"tool_name":`, f.ToolName)
	o.str(`"content":`, f.Content)
	o.bool(`"is_error":`, f.IsError)
	o.rawOpt(`"structured":`, f.Structured)
	o.attachmentsOpt(f.Attachments)
	o.strOpt(`"outcome":`, string(f.Outcome))
	o.intOpt(`"duration_ms":`, f.DurationMS)
	o.place(&f.Place)
	return o.close()
}

func (f *Question) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"question_id":`, f.QuestionID)
	o.str(`"ask":`, string(f.Ask))
	o.strOpt(`"name":`, f.Name)
	o.intOpt(`"index":`, int64(f.Index))
	o.strOpt(`"prompt":`, f.Prompt)
	o.rawOpt(`"payload":`, f.Payload)
	o.rawOpt(`"schema":`, f.Schema)
	o.strOpt(`"tool_use_id":`, f.ToolUseID)
	o.strOpt(`"tool_name":`, f.ToolName)
	o.rawOpt(`"tool_input":`, f.ToolInput)
	o.timeOpt(`"expires_at":`, f.ExpiresAt)
	o.place(&f.Place)
	return o.close()
}

func (f *Answered) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"question_id":`, f.QuestionID)
	o.strOpt(`"by":`, f.By)
	o.place(&f.Place)
	return o.close()
}

func (f *Message) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"text":`, f.Text)
	o.strOpt(`"thinking":`, f.Thinking)
	o.boolOpt(`"piece":`, f.Piece)
	o.strOpt(`"stop_reason":`, string(f.StopReason))
	o.strOpt(`"model":`, f.Model)
	o.usage(&f.Usage)
	o.boolOpt(`"simulated":`, f.Simulated)
	o.place(&f.Place)
	return o.close()
}

func (f *UserMessage) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"text":`, f.Text)
	o.attachmentsOpt(f.Attachments)
	o.strOpt(`"message_id":`, f.MessageID)
	return o.close()
}

func (f *Snapshot) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"text":`, f.Text)
	o.strOpt(`"thinking":`, f.Thinking)
	o.boolOpt(`"truncated":`, f.Truncated)
	o.place(&f.Place)
	return o.close()
}

func (f *Retry) append(dst []byte) []byte {
	o := open(dst)
	o.errorOpt(f.Error)
	o.timeOpt(`"retry_at":`, f.RetryAt)
	o.strOpt(`"model":`, f.Model)
	o.place(&f.Place)
	return o.close()
}

func (f *Redacted) append(dst []byte) []byte {
	o := open(dst)
	o.int(`"target":`, f.Target)
	o.str(`"text":`, f.Text)
	return o.close()
}

func (f *Notice) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"code":`, f.Code)
	o.strOpt(`"message":`, f.Message)
	o.place(&f.Place)
	return o.close()
}

func (f *Title) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"title":`, f.Title)
	return o.close()
}

func (f *Result) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"result":`, f.Result)
	o.bool(`"is_error":`, f.IsError)
	o.strs(`"errors":`, f.Errors)
	o.ended(&f.End)
	o.errorOpt(f.Error)
	o.rawOpt(`"structured_output":`, f.StructuredOutput)
	return o.close()
}

func (o *object) ended(e *End) {
	o.usage(&e.Usage)
	o.cost(`"total_cost_usd":`, e.TotalCostUSD)
	o.boolOpt(`"estimated":`, e.Estimated)
	o.int(`"num_turns":`, int64(e.NumTurns))
	o.int(`"duration_ms":`, e.DurationMS)
	o.str(`"session_id":`, e.SessionID)
	o.strOpt(`"stop_reason":`, string(e.StopReason))
	o.str(`"run_id":`, e.RunID)
	o.int(`"turn":`, int64(e.Turn))
	o.str(`"status":`, string(e.Status))
	o.models(e.ModelUsage)
	if e.Main != nil {
		o.buf = append(o.buf, `"main":{`...)
		o.agent(e.Main)
	}
	if len(e.Subagents) > 0 {
		o.buf = append(o.buf, `"subagents":[`...)
		for i := range e.Subagents {
			o.buf = append(o.buf, '{')
			o.agent(&e.Subagents[i])
		}
		o.end(']')
	}
	o.boolOpt(`"simulated":`, e.Simulated)
	if len(e.FileChanges) > 0 {
		o.buf = append(o.buf, `"file_changes":[`...)
		for i := range e.FileChanges {
			c := &e.FileChanges[i]
			o.buf = append(o.buf, '{')
			o.str(`"path":`, c.Path)
			o.str(`"kind":`, c.Kind)
			o.intOpt(`"size":`, c.Size)
			o.end('}')
		}
		o.end(']')
	}
	o.intOpt(`"more_file_changes":`, int64(e.MoreFileChanges))
}

func (o *object) models(list []ModelUsage) {
	if len(list) == 0 {
		return
	}
	o.buf = append(o.buf, `"model_usage":[`...)
	for i := range list {
		m := &list[i]
		o.buf = append(o.buf, '{')
		o.str(`"model":`, m.Model)
		o.usage(&m.Usage)
		o.cost(`"total_cost_usd":`, m.TotalCostUSD)
		o.boolOpt(`"estimated":`, m.Estimated)
		o.end('}')
	}
	o.end(']')
}

// agent writes the rest of an object that is open.
func (o *object) agent(a *AgentUsage) {
	o.strOpt(`"tool_use_id":`, a.ToolUseID)
	o.strOpt(`"subagent_type":`, a.SubagentType)
	o.spending(&a.Spending)
	o.end('}')
}

func (o *object) spending(s *Spending) {
	o.usage(&s.Usage)
	o.cost(`"total_cost_usd":`, s.TotalCostUSD)
	o.boolOpt(`"estimated":`, s.Estimated)
	o.models(s.ModelUsage)
}

func (f *SubagentStart) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"tool_use_id":`, f.ToolUseID)
	o.str(`"subagent_type":`, f.SubagentType)
	o.strOpt(`"description":`, f.Description)
	o.strOpt(`"model":`, f.Model)
	o.strOpt(`"model_alias":`, f.ModelAlias)
	o.boolOpt(`"background":`, f.Background)
	o.place(&f.Place)
	return o.close()
}

func (f *SubagentEnd) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"tool_use_id":`, f.ToolUseID)
	o.str(`"subagent_type":`, f.SubagentType)
	o.str(`"status":`, string(f.Status))
	o.strOpt(`"result":`, f.Result)
	o.errorOpt(f.Error)
	o.spending(&f.Spending)
	o.intOpt(`"duration_ms":`, f.DurationMS)
	o.strOpt(`"parent_tool_use_id":`, f.Parent)
	return o.close()
}

func (f *Error) append(dst []byte) []byte {
	o := open(dst)
	o.str(`"code":`, f.Code)
	o.str(`"message":`, f.Message)
	o.strOpt(`"hint":`, f.Hint)
	o.strOpt(`"request_id":`, f.RequestID)
	o.intOpt(`"retry_after":`, int64(f.RetryAfter))
	if f.Run != nil {
		o.buf = append(o.buf, `"run":{`...)
		o.ended(f.Run)
		o.end('}')
	}
	return o.close()
}

func (o *object) errorOpt(e *Error) {
	if e != nil {
		o.buf = append(o.buf, `"error":`...)
		o.buf = append(e.append(o.buf), ',')
	}
}
