package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// HookPoint is a place where the program asks its hooks.
type HookPoint string

// Hook points. A later program may have more.
const (
	PreToolUse         HookPoint = "PreToolUse"
	PostToolUse        HookPoint = "PostToolUse"
	PostToolUseFailure HookPoint = "PostToolUseFailure"
	PostToolBatch      HookPoint = "PostToolBatch" // after all tools of an answer, before the next model call
	UserPromptSubmit   HookPoint = "UserPromptSubmit"
	SessionStart       HookPoint = "SessionStart"
	SessionEnd         HookPoint = "SessionEnd"
	Stop               HookPoint = "Stop"
	StopFailure        HookPoint = "StopFailure"
	SubagentStart      HookPoint = "SubagentStart"
	SubagentStop       HookPoint = "SubagentStop"
	PreCompact         HookPoint = "PreCompact"
	PostCompact        HookPoint = "PostCompact"
	PermissionAsked    HookPoint = "PermissionRequest"
)

// HookMatch chooses what a hook is asked about.
type HookMatch struct {
	Point HookPoint
	// Tool is a pattern of tool names, such as "Write|Edit"; empty for all.
	Tool string
	// Timeout bounds an answer; 0 is the program's default.
	Timeout time.Duration
	// Block has the action fail if the hook fails. By default it goes on.
	Block bool
}

// HookInput is what a hook is told. Raw has all of it.
type HookInput struct {
	Event          HookPoint       `json:"hook_event_name"`
	Session        string          `json:"session_id"`
	Transcript     string          `json:"transcript_path"`
	Dir            string          `json:"cwd"`
	PermissionMode string          `json:"permission_mode"`
	Prompt         string          `json:"prompt"`
	Tool           string          `json:"tool_name"`
	ToolInput      json.RawMessage `json:"tool_input"`
	ToolResponse   json.RawMessage `json:"tool_response"`
	ToolUseID      string          `json:"tool_use_id"`
	AgentID        string          `json:"agent_id"`
	AgentType      string          `json:"agent_type"`
	LastMessage    string          `json:"last_assistant_message"`
	Raw            json.RawMessage `json:"-"`
}

// HookOutput is a hook's answer. The zero value lets the program go on.
type HookOutput struct {
	// Stop ends the turn, for the reason that StopReason tells the user.
	Stop       bool
	StopReason string
	// Decision is allow, deny, ask or defer for PreToolUse, and empty for none. Reason is for the model.
	Decision string
	Reason   string
	// Input replaces the input of a tool at PreToolUse; nil keeps it.
	Input json.RawMessage
	// Context is added to what the model reads.
	Context string
	// Block refuses a prompt at UserPromptSubmit, or has the model go on at Stop; Reason says why.
	Block bool
}

type hookMatcher struct {
	HookMatch
	f func(context.Context, *HookInput) (HookOutput, error)
}

// OnHook adds a hook. It is called concurrently. Its error is that of the hook: see [HookMatch] for what follows.
func OnHook(m HookMatch, f func(context.Context, *HookInput) (HookOutput, error)) Option {
	return func(c *config) {
		if f != nil {
			c.hooks = append(c.hooks, hookMatcher{m, f})
		}
	}
}

// hookSetup is the field "hooks" of the first request. The id of a hook's callback is its place in the list.
func (c *config) hookSetup() map[HookPoint][]map[string]any {
	if len(c.hooks) == 0 {
		return nil
	}
	points := map[HookPoint][]map[string]any{}
	for i, h := range c.hooks {
		m := map[string]any{"matcher": nil, "hookCallbackIds": []string{fmt.Sprintf("hook_%d", i)}}
		if h.Tool != "" {
			m["matcher"] = h.Tool
		}
		if h.Timeout > 0 {
			m["timeout"] = h.Timeout.Seconds()
		}
		if h.Block {
			m["onFailure"] = "block"
		}
		points[h.Point] = append(points[h.Point], m)
	}
	return points
}

// answerHook calls the hook of a callback.
func (c *config) answerHook(ctx context.Context, request json.RawMessage) (any, error) {
	var r struct {
		Callback string          `json:"callback_id"`
		Input    json.RawMessage `json:"input"`
	}
	if err := lenient(json.Unmarshal(request, &r)); err != nil {
		return nil, err
	}
	for i, h := range c.hooks {
		if fmt.Sprintf("hook_%d", i) != r.Callback {
			continue
		}
		in := &HookInput{}
		if err := lenient(json.Unmarshal(r.Input, in)); err != nil {
			return nil, err
		}
		in.Raw = r.Input
		var out HookOutput
		err := guarded("a hook", func() (err error) {
			out, err = h.f(ctx, in)
			return err
		})
		return out.wire(in.Event), err
	}
	return nil, fmt.Errorf("there is no hook %q", r.Callback)
}

// wire is the answer in the program's form.
func (o *HookOutput) wire(at HookPoint) map[string]any {
	w := map[string]any{"continue": !o.Stop}
	if o.StopReason != "" {
		w["stopReason"] = o.StopReason
	}
	if o.Block {
		w["decision"] = "block"
		w["reason"] = o.Reason
	}
	special := map[string]any{}
	if o.Decision != "" {
		special["permissionDecision"] = o.Decision
		special["permissionDecisionReason"] = o.Reason
	}
	if o.Input != nil {
		special["updatedInput"] = o.Input
	}
	if o.Context != "" {
		special["additionalContext"] = o.Context
	}
	if len(special) > 0 {
		special["hookEventName"] = at
		w["hookSpecificOutput"] = special
	}
	return w
}
