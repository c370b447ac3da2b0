package bedrock

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
)

// ending is the encoding after the messages, with the model's own parameters.
type ending struct{ text, fields []byte }

// tail encodes the part after the messages. tools is set if tools come before them.
func (m *setup) tail(req *model.Request, tools, without bool) (ending, error) {
	b := make([]byte, 0, 256)
	greedy := m.greedy(req, tools)
	fields, most, err := m.additional(req, greedy, without)
	if err != nil {
		return ending{}, err
	}
	b = appendInference(b, &req.Options, most, greedy)
	if len(fields) > 0 {
		b = append(append(b, `,"additionalModelRequestFields":`...), fields...)
	}
	if req.Output != nil {
		if b, err = m.appendOutput(b, req); err != nil {
			return ending{}, err
		}
	}
	if g := m.guard; g != nil {
		b = strictjson.AppendString(append(b, `,"guardrailConfig":{"guardrailIdentifier":`...), g.ID)
		b = strictjson.AppendString(append(b, `,"guardrailVersion":`...), g.Version)
		b = append(append(append(b, `,"trace":"`...), g.Trace...), '"')
		if !m.whole(req) {
			mode := "sync"
			if g.Async {
				mode = "async"
			}
			b = append(append(append(b, `,"streamProcessingMode":"`...), mode...), '"')
		}
		b = append(b, '}')
	}
	latency, tier := m.speed(&req.Options)
	b = append(b, latency...)
	if len(m.metadata) > 0 {
		b = append(append(b, `,"requestMetadata":`...), m.metadata...)
	}
	return ending{append(append(b, tier...), '}'), fields}, nil
}

// appendInference writes the settings that all models have.
func appendInference(b []byte, o *model.Options, most int, greedy bool) []byte {
	at := len(b)
	b = append(b, `,"inferenceConfig":{`...)
	empty := len(b)
	if most > 0 {
		b = append(strconv.AppendInt(append(b, `"maxTokens":`...), int64(most), 10), ',')
	}
	switch {
	case o.Temperature != nil:
		b = append(strconv.AppendFloat(append(b, `"temperature":`...), *o.Temperature, 'g', -1, 64), ',')
	case greedy:
		b = append(b, `"temperature":0,`...)
	}
	if o.TopP != nil {
		b = append(strconv.AppendFloat(append(b, `"topP":`...), *o.TopP, 'g', -1, 64), ',')
	}
	n := 0
	for _, w := range o.StopWords {
		if strings.TrimSpace(w) == "" {
			continue // the API refuses blank ones
		}
		if n++; n == 1 {
			b = append(b, `"stopSequences":[`...)
		}
		b = append(strictjson.AppendString(b, w), ',')
	}
	if n > 0 {
		b = append(b[:len(b)-1], `],`...)
	}
	if len(b) == empty {
		return b[:at]
	}
	return append(b[:len(b)-1], '}')
}

// greedy reports whether the model must decode greedily to write its calls well
// (nova/latest/userguide/prompting-tool-troubleshooting).
func (m *setup) greedy(req *model.Request, tools bool) bool {
	if !m.family.nova || !tools {
		return false
	}
	t, err := m.thought(req)
	return err != nil || t.effort == "" || forced(req)
}

// ownFields are the model parameters that Braid writes.
var ownFields = []string{"thinking", "output_config", "reasoningConfig", "reasoning_effort", "inferenceConfig"}

// additional returns the model's own parameters as a JSON object, nil for none, and max_tokens,
// which includes thinking. [Fields] takes precedence over Braid's parameters, and the request's
// Extra over both.
func (m *setup) additional(req *model.Request, greedy, without bool) (object []byte, most int, err error) {
	fields := map[string]json.RawMessage{}
	set := func(key, value string) { fields[key] = json.RawMessage(value) }
	if greedy {
		set("inferenceConfig", `{"topK":1}`)
	}
	if most, err = m.think(req, without, set); err != nil {
		return nil, 0, err
	}
	maps.Copy(fields, m.fields)
	for name := range req.Options.Extra {
		delete(fields, name)
	}
	if len(fields) > 0 {
		if object, err = json.Marshal(fields); err != nil {
			return nil, 0, notSent(event.ErrInvalid, "the model's own parameters cannot be written", "look at them where the model is made")
		}
		object = object[:len(object)-1]
	}
	if object, err = provider.AppendExtra(object, op, req.Options.Extra, ownFields...); err != nil || len(object) == 0 {
		return nil, most, err
	}
	object[0] = '{' // or the comma of the first member
	return append(object, '}'), most, nil
}
