package bedrock

import (
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// verdict is what a guardrail blocked. It is known only where it told what it saw.
type verdict struct {
	known, input, output bool
}

// guardrailTrace is what a guardrail saw (API_runtime_GuardrailTraceAssessment).
type guardrailTrace struct {
	Input  json.RawMessage `json:"inputAssessment"`
	Output json.RawMessage `json:"outputAssessments"`
}

func (t *guardrailTrace) verdict() verdict {
	return verdict{known: true, input: blocks(t.Input), output: blocks(t.Output)}
}

// blocks reports whether a policy has blocked something, as Strands finds it: an
// action BLOCKED, unless it is said that nothing was detected. What was masked
// stands in the answer already, so it is not blocked.
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

// redact says what may not stand. Without a trace the stop reason is all that is
// known, and it does not tell question from answer.
func (d *decoder) redact() {
	if d.guard == nil {
		return
	}
	v := d.blocked
	if !v.known && stopReason(d.stop) == event.StopGuardrail {
		v.input, v.output = true, true
	}
	if v.input && !d.guard.KeepInput {
		d.send(model.Chunk{Kind: model.ChunkRedactInput, Text: d.guard.InputText})
	}
	if v.output && d.guard.RedactOutput {
		d.send(model.Chunk{Kind: model.ChunkRedactOutput, Text: d.guard.OutputText})
	}
}
