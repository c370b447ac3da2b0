package claude

import (
	"bytes"
	"encoding/json"
)

// makers has the type of each message, by its type and, for system messages, its subtype.
var makers = map[string]func() Message{
	"assistant":          func() Message { return new(Assistant) },
	"user":               func() Message { return new(User) },
	"result":             func() Message { return new(Result) },
	"stream_event":       func() Message { return new(StreamEvent) },
	"rate_limit_event":   func() Message { return new(RateLimit) },
	"tool_progress":      func() Message { return new(ToolProgress) },
	"tool_use_summary":   func() Message { return new(ToolUseSummary) },
	"prompt_suggestion":  func() Message { return new(PromptSuggestion) },
	"auth_status":        func() Message { return new(AuthStatus) },
	"conversation_reset": func() Message { return new(ConversationReset) },
	"active_goal":        func() Message { return new(ActiveGoal) },
	"transcript_mirror":  func() Message { return new(Mirror) },

	"system/init":                      func() Message { return new(Init) },
	"system/task_started":              func() Message { return new(TaskStarted) },
	"system/task_progress":             func() Message { return new(TaskProgress) },
	"system/task_updated":              func() Message { return new(TaskUpdated) },
	"system/task_notification":         func() Message { return new(TaskNotification) },
	"system/background_tasks_changed":  func() Message { return new(BackgroundTasks) },
	"system/api_retry":                 func() Message { return new(APIRetry) },
	"system/status":                    func() Message { return new(Status) },
	"system/compact_boundary":          func() Message { return new(CompactBoundary) },
	"system/thinking_tokens":           func() Message { return new(ThinkingTokens) },
	"system/permission_denied":         func() Message { return new(PermissionDenied) },
	"system/model_fallback":            func() Message { return new(ModelFallback) },
	"system/model_refusal_fallback":    func() Message { return new(ModelRefusal) },
	"system/model_refusal_no_fallback": func() Message { return new(ModelRefusal) },
	"system/informational":             func() Message { return new(Informational) },
	"system/notification":              func() Message { return new(Notification) },
	"system/local_command_output":      func() Message { return new(LocalCommandOutput) },
	"system/session_state_changed":     func() Message { return new(SessionState) },
	"system/session_title_changed":     func() Message { return new(SessionTitle) },
	"system/commands_changed":          func() Message { return new(CommandsChanged) },
	"system/files_persisted":           func() Message { return new(FilesPersisted) },
	"system/elicitation_complete":      func() Message { return new(ElicitationComplete) },
	"system/hook_started":              func() Message { return new(HookEvent) },
	"system/hook_progress":             func() Message { return new(HookEvent) },
	"system/hook_response":             func() Message { return new(HookEvent) },
	"system/memory_recall":             func() Message { return new(MemoryRecall) },
	"system/mirror_error":              func() Message { return new(MirrorError) },
	"system/session_writes_lost":       func() Message { return new(SessionWritesLost) },
	"system/plugin_install":            func() Message { return new(PluginInstall) },
	"system/worker_shutting_down":      func() Message { return new(WorkerShuttingDown) },
	"system/control_request_progress":  func() Message { return new(ControlProgress) },
	"system/ui_invalidate":             func() Message { return new(UIInvalidate) },
}

// Decode returns the message that a line holds. A line of an unknown type gives an [Unknown]. A field of another type than
// expected stays zero, because a later version of the program may have changed it. The error is a [LineError]: the line is
// no JSON object with a type. The message keeps the line, which must not be changed any more.
func Decode(line []byte) (Message, error) {
	line = bytes.TrimSpace(line)
	kind, sub := kindOf(line)
	return decode(line, kind, sub)
}

// decode is [Decode] for a line whose type is known.
func decode(line []byte, kind, sub string) (Message, error) {
	key := kind
	if kind == "system" {
		key += "/" + sub
	}
	if kind != "" {
		if maker := makers[key]; maker != nil {
			m := maker()
			if err := lenient(json.Unmarshal(line, m)); err == nil {
				m.Base().Raw = line
				return m, nil
			}
		}
	}
	u := new(Unknown)
	if err := lenient(json.Unmarshal(line, u)); err != nil || u.Type == "" {
		return nil, &LineError{Start: shorten(line)}
	}
	u.Raw = line
	return u, nil
}

// kindOf returns the type and the subtype of a line without decoding it. A line that is no JSON gives anything.
func kindOf(line []byte) (kind, sub string) {
	depth, i := 0, 0
	for i < len(line) {
		switch line[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := endOfString(line, i)
			if depth == 1 && (end-i == 5 || end-i == 8) {
				if name := line[i+1 : end]; string(name) == "type" || string(name) == "subtype" {
					if value, ok := stringAfter(line, end+1); ok && len(name) == 4 {
						kind = value
					} else if ok {
						sub = value
					}
				}
			}
			i = end
		}
		i++
	}
	return kind, sub
}

// endOfString returns where the string that begins at i ends: at its last quote, or behind the line.
func endOfString(line []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(line[i:], '"')
		if n < 0 {
			return len(line)
		}
		i += n
		slashes := 0
		for line[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// stringAfter returns the string behind a colon.
func stringAfter(line []byte, i int) (value string, ok bool) {
	rest := bytes.TrimLeft(line[min(i, len(line)):], " \t")
	if len(rest) < 2 || rest[0] != ':' {
		return "", false
	}
	rest = bytes.TrimLeft(rest[1:], " \t")
	if len(rest) < 2 || rest[0] != '"' {
		return "", false
	}
	end := endOfString(rest, 0)
	if end >= len(rest) {
		return "", false
	}
	return string(rest[1:end]), true
}
