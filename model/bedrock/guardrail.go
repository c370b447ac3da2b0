package bedrock

import (
	"encoding/json"
	"slices"
)

// verdict is what a guardrail blocked. It is only known with a trace.
type verdict struct {
	known, input, output bool
}

// guardrailTrace is what a guardrail found (API_runtime_GuardrailTraceAssessment).
type guardrailTrace struct {
	Input  json.RawMessage `json:"inputAssessment"`
	Output json.RawMessage `json:"outputAssessments"`
}

func (t *guardrailTrace) verdict() verdict {
	return verdict{known: true, input: blocks(t.Input), output: blocks(t.Output)}
}

// blocks reports whether a policy has blocked something. The rule is Strands': an action BLOCKED, unless detected is
// false. Masked text does not count, because the answer already contains the mask.
func blocks(assessment json.RawMessage) bool {
	var v any
	return len(assessment) > 0 && json.Unmarshal(assessment, &v) == nil && blocked(v)
}

func blocked(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if v["action"] == "BLOCKED" && v["detected"] != false {
			return true
		}
		for _, in := range v {
			if blocked(in) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, blocked)
	}
	return false
}

// Guardrail names a guardrail that checks prompts and answers
// (bedrock/latest/userguide/guardrails-use-converse-api), and what replaces blocked
// text. Text that the guardrail masks stays masked in the log.
type Guardrail struct {
	// ID and Version name the guardrail. Both are required.
	ID, Version string
	// Trace is enabled (the default), enabled_full or disabled. Without a trace, Braid
	// cannot tell whether the prompt or the answer was blocked.
	Trace string
	// Async streams deltas before the guardrail has checked them. The answer may be
	// redacted afterwards.
	Async bool
	// Latest has the guardrail check only the newest user message.
	Latest bool
	// KeepInput keeps blocked user messages in the conversation. Otherwise InputText
	// replaces them, or "[User input redacted.]".
	KeepInput bool
	InputText string
	// RedactOutput replaces a blocked answer with OutputText, or with "[Assistant
	// output redacted.]". Otherwise the guardrail's own message stays.
	RedactOutput bool
	OutputText   string
}

// The default replacements of blocked text, in the words of Strands.
const (
	redactedInput  = "[User input redacted.]"
	redactedOutput = "[Assistant output redacted.]"
)
