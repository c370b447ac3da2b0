package adk

import (
	"encoding/json"
	"strings"

	"github.com/braidrun/braid/internal/strictjson"
)

// The kinds of values that are kept: any, or those that begin with one of the bytes.
const (
	anything = ""
	texts    = `"`
	objects  = "{"
	lists    = "["
	numbers  = "-0123456789"
	bools    = "tf"
)

// otherFields are the fields of an event that are kept as they came, each with the kind of its value.
var otherFields = map[string]string{
	"isolationScope": texts, "turnCompleteReason": texts, "groundingMetadata": objects, "citationMetadata": objects,
	"customMetadata": objects + lists, // Java has a list
	"avgLogprobs":    numbers, "logprobsResult": objects, "inputTranscription": objects, "outputTranscription": objects,
	"cacheMetadata": objects, "interactionId": texts, "environmentId": texts, "liveSessionResumptionUpdate": objects,
	"liveSessionId": texts, "goAway": objects, "voiceActivity": objects, "sessionResumptionHandle": texts,
	"output": anything, "nodeInfo": objects, "routes": lists, "requestedInput": objects,
}

// otherActions are the actions that are kept as they came.
var otherActions = map[string]string{
	"deletedArtifactIds": lists, "compaction": objects, "endOfAgent": bools, "endInvocation": bools, "agentState": objects,
	"rewindBeforeInvocationId": texts, "route": anything, "renderUiWidgets": lists, "setModelResponse": anything,
}

// otherParts are the members of a part that are kept as they came.
var otherParts = map[string]string{
	"videoMetadata": objects, "mediaResolution": anything, "toolCall": objects, "toolResponse": objects, "partMetadata": objects,
}

// otherMembers are those of calls, responses and counts of tokens.
var otherMembers = map[string]string{
	"partialArgs": lists, "willContinue": bools, "scheduling": texts, "parts": lists,
	"toolUsePromptTokenCount": numbers, "trafficType": texts, "promptTokensDetails": lists, "candidatesTokensDetails": lists,
	"cacheTokensDetails": lists, "toolUsePromptTokensDetails": lists, "serviceTier": texts,
}

// opaque are the members whose values have keys that are not ADK's own: they keep their style.
var opaque = map[string]bool{
	"args": true, "response": true, "customMetadata": true, "output": true, "agentState": true, "payload": true,
	"responseSchema": true, "setModelResponse": true, "partMetadata": true, "stateDelta": true,
}

// keep reads a value that has no meaning here.
func (d decoder) keep(m *map[string]json.RawMessage, key, kind string) {
	if c := d.Peek(); kind != anything && strings.IndexByte(kind, c) < 0 {
		d.Fail(d.Mark(), strictjson.WrongType, "the member "+key+" has a value of another kind")
		return
	}
	raw := d.Raw(maxDepth)
	if !opaque[key] {
		raw = camelKeys(raw)
	}
	if *m == nil {
		*m = map[string]json.RawMessage{}
	}
	(*m)[key] = raw
}

func (d decoder) rest(m *map[string]json.RawMessage, key string) bool {
	kind, known := otherMembers[key]
	if known {
		d.keep(m, key, kind)
	}
	return known
}

// Camel turns a key in snake_case into camelCase.
func Camel(s string) string {
	var b strings.Builder
	up := false
	for i := range len(s) {
		switch c := s[i]; {
		case c == '_' && i > 0:
			up = true
		case up && 'a' <= c && c <= 'z':
			b.WriteByte(c - 'a' + 'A')
			up = false
		default:
			b.WriteByte(c)
			up = false
		}
	}
	return b.String()
}

// camelKeys turns the keys in a value into camelCase, but for those below opaque members. The value is valid JSON. If two keys
// became the same, the value stays as it is.
func camelKeys(raw json.RawMessage) json.RawMessage {
	if !strings.Contains(string(raw), "_") {
		return raw
	}
	var r strictjson.Reader
	r.Reset(raw, maxDepth)
	out := rewrite(&r, nil)
	if r.End() != nil || strictjson.Check(out, maxDepth) != nil {
		return raw
	}
	return out
}

func rewrite(r *strictjson.Reader, dst []byte) []byte {
	o := object{dst}
	switch r.Peek() {
	case '{':
		o.buf = append(o.buf, '{')
		for members := r.Object(); members.Next(); {
			key := Camel(string(members.Key))
			o.key(key)
			if opaque[key] {
				o.buf = append(o.buf, r.Raw(maxDepth)...)
			} else {
				o.buf = rewrite(r, o.buf)
			}
			o.comma()
		}
		o.end('}')
	case '[':
		o.buf = append(o.buf, '[')
		for a := r.Array(); a.Next(); {
			o.buf = append(rewrite(r, o.buf), ',')
		}
		o.end(']')
	default:
		o.buf = append(o.buf, r.Raw(maxDepth)...)
	}
	return o.buf
}
