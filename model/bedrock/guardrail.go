package bedrock

import (
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
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

// redact reports which text must be replaced. Without a trace only the stop reason is known, which does not
// distinguish question and answer.
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
