package adk

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/braidrun/braid/internal/strictjson"
)

// MarshalJSON implements [encoding/json.Marshaler]. It writes what [Event.AppendJSON] does.
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// AppendJSON appends the event as one line of JSON with keys in camelCase. What is absent is not written, nor is a nil map or
// list; an empty one is. The raw values must be JSON.
func (e *Event) AppendJSON(dst []byte) []byte {
	o := object{append(dst, '{')}
	o.strOpt(`"id":`, e.ID)
	o.strOpt(`"invocationId":`, e.InvocationID)
	o.strOpt(`"author":`, e.Author)
	o.time(e.Time, e.Clock)
	o.strOpt(`"branch":`, e.Branch)
	if e.Content != nil {
		o.buf = append(o.buf, `"content":`...)
		e.Content.write(&o)
	}
	if e.Actions != nil {
		o.buf = append(o.buf, `"actions":`...)
		e.Actions.write(&o)
	}
	if e.LongRunning != nil {
		o.strings(`"longRunningToolIds":`, e.LongRunning)
	}
	o.flag(`"partial":`, e.Partial)
	o.flag(`"turnComplete":`, e.TurnComplete)
	o.flag(`"interrupted":`, e.Interrupted)
	o.strOpt(`"finishReason":`, e.FinishReason)
	o.strOpt(`"errorCode":`, e.ErrorCode)
	o.strOpt(`"errorMessage":`, e.ErrorMessage)
	o.strOpt(`"modelVersion":`, e.ModelVersion)
	if e.Usage != nil {
		o.buf = append(o.buf, `"usageMetadata":`...)
		e.Usage.write(&o)
	}
	o.members(e.Other)
	return o.end('}').buf
}

func (c *Content) write(o *object) {
	o.buf = append(o.buf, '{')
	o.strOpt(`"role":`, c.Role)
	if c.Parts != nil {
		o.buf = append(o.buf, `"parts":[`...)
		for i := range c.Parts {
			c.Parts[i].write(o)
		}
		o.end(']').comma()
	}
	o.end('}').comma()
}

func (p *Part) write(o *object) {
	o.buf = append(o.buf, '{')
	if p.Text != nil {
		o.str(`"text":`, *p.Text)
	}
	o.flag(`"thought":`, p.Thought)
	o.strOpt(`"thoughtSignature":`, p.Signature)
	if c := p.Call; c != nil {
		o.buf = append(o.buf, `"functionCall":{`...)
		o.strOpt(`"id":`, c.ID)
		o.strOpt(`"name":`, c.Name)
		o.rawOpt(`"args":`, c.Args)
		o.members(c.Other)
		o.end('}').comma()
	}
	if r := p.Response; r != nil {
		o.buf = append(o.buf, `"functionResponse":{`...)
		o.strOpt(`"id":`, r.ID)
		o.strOpt(`"name":`, r.Name)
		o.rawOpt(`"response":`, r.Response)
		o.members(r.Other)
		o.end('}').comma()
	}
	if b := p.Inline; b != nil {
		o.buf = append(o.buf, `"inlineData":{`...)
		o.strOpt(`"mimeType":`, b.MIME)
		o.str(`"data":`, b.Data)
		o.strOpt(`"displayName":`, b.Name)
		o.end('}').comma()
	}
	if f := p.File; f != nil {
		o.buf = append(o.buf, `"fileData":{`...)
		o.strOpt(`"mimeType":`, f.MIME)
		o.str(`"fileUri":`, f.URI)
		o.strOpt(`"displayName":`, f.Name)
		o.end('}').comma()
	}
	if c := p.Code; c != nil {
		o.buf = append(o.buf, `"executableCode":{`...)
		o.strOpt(`"id":`, c.ID)
		o.strOpt(`"language":`, c.Language)
		o.str(`"code":`, c.Code)
		o.end('}').comma()
	}
	if c := p.CodeResult; c != nil {
		o.buf = append(o.buf, `"codeExecutionResult":{`...)
		o.strOpt(`"id":`, c.ID)
		o.strOpt(`"outcome":`, c.Outcome)
		o.strOpt(`"output":`, c.Output)
		o.end('}').comma()
	}
	o.members(p.Other)
	o.end('}').comma()
}

func (a *Actions) write(o *object) {
	o.buf = append(o.buf, '{')
	o.rawMap(`"stateDelta":`, a.StateDelta)
	if a.ArtifactDelta != nil {
		o.buf = append(o.buf, `"artifactDelta":{`...)
		for _, name := range slices.Sorted(maps.Keys(a.ArtifactDelta)) {
			o.key(name)
			if v := a.ArtifactDelta[name]; v.Part != nil {
				v.Part.write(o)
			} else {
				o.buf = append(strconv.AppendInt(o.buf, v.Version, 10), ',')
			}
		}
		o.end('}').comma()
	}
	o.rawMap(`"requestedAuthConfigs":`, a.AuthConfigs)
	o.rawMap(`"requestedToolConfirmations":`, a.Confirmations)
	o.flag(`"skipSummarization":`, a.SkipSummarization)
	o.strOpt(`"transferToAgent":`, a.TransferToAgent)
	o.flag(`"escalate":`, a.Escalate)
	o.members(a.Other)
	o.end('}').comma()
}

func (u *Usage) write(o *object) {
	o.buf = append(o.buf, '{')
	o.intOpt(`"promptTokenCount":`, u.Prompt)
	o.intOpt(`"candidatesTokenCount":`, u.Candidates)
	o.intOpt(`"totalTokenCount":`, u.Total)
	o.intOpt(`"cachedContentTokenCount":`, u.Cached)
	o.intOpt(`"thoughtsTokenCount":`, u.Thoughts)
	o.members(u.Other)
	o.end('}').comma()
}

// object appends a JSON object in one line. Each value is written with a comma after it; end takes the last one away. Keys
// come with their quotes and colon: each is one copy.
type object struct{ buf []byte }

func (o *object) end(c byte) *object {
	if n := len(o.buf); o.buf[n-1] == ',' {
		o.buf = o.buf[:n-1]
	}
	o.buf = append(o.buf, c)
	return o
}

func (o *object) comma() { o.buf = append(o.buf, ',') }

func (o *object) key(name string) { o.buf = append(strictjson.AppendString(o.buf, name), ':') }

func (o *object) str(key, s string) {
	o.buf = append(o.buf, key...)
	o.buf = append(strictjson.AppendString(o.buf, s), ',')
}

func (o *object) strOpt(key, s string) {
	if s != "" {
		o.str(key, s)
	}
}

func (o *object) strings(key string, list []string) {
	o.buf = append(append(o.buf, key...), '[')
	for _, s := range list {
		o.buf = append(strictjson.AppendString(o.buf, s), ',')
	}
	o.end(']').comma()
}

func (o *object) intOpt(key string, n int64) {
	if n != 0 {
		o.buf = append(strconv.AppendInt(append(o.buf, key...), n, 10), ',')
	}
}

func (o *object) flag(key string, f Flag) {
	if f != Absent {
		o.buf = append(strconv.AppendBool(append(o.buf, key...), f == True), ',')
	}
}

func (o *object) rawOpt(key string, raw json.RawMessage) {
	if raw != nil {
		o.buf = append(o.buf, key...)
		o.raw(raw)
	}
}

// raw writes a value. One that stands on several lines would break a frame.
func (o *object) raw(raw json.RawMessage) {
	if len(raw) > 0 && bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		o.buf = append(append(o.buf, raw...), ',')
		return
	}
	n := len(o.buf)
	buf, err := strictjson.AppendCompact(o.buf, raw, maxDepth)
	if err != nil {
		buf = append(o.buf[:n], "null"...)
	}
	o.buf = append(buf, ',')
}

func (o *object) rawMap(key string, m map[string]json.RawMessage) {
	if m != nil {
		o.buf = append(append(o.buf, key...), '{')
		o.members(m)
		o.end('}').comma()
	}
}

// members writes the members of an object in the order of their names.
func (o *object) members(m map[string]json.RawMessage) {
	if len(m) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		o.key(name)
		o.raw(m[name])
	}
}

// time writes a time. One before 1970 or after 9999 is implausible and not written.
func (o *object) time(t time.Time, c Clock) {
	sec := t.Unix()
	if t.IsZero() || sec < 0 || sec > maxSecond {
		return
	}
	o.buf = append(o.buf, `"timestamp":`...)
	switch c {
	case Milliseconds:
		o.buf = strconv.AppendInt(o.buf, t.UnixMilli(), 10)
	case RFC3339:
		o.buf = append(t.UTC().AppendFormat(append(o.buf, '"'), time.RFC3339Nano), '"')
	default:
		o.buf = appendSeconds(o.buf, sec, t.Nanosecond())
	}
	o.comma()
}

// appendSeconds appends a number of seconds with a fraction, which has no zeros at its end.
func appendSeconds(dst []byte, sec int64, nano int) []byte {
	dst = append(strconv.AppendInt(dst, sec, 10), '.')
	if nano == 0 {
		return append(dst, '0')
	}
	var digits [9]byte
	for i := range digits {
		digits[8-i] = byte('0' + nano%10)
		nano /= 10
	}
	return append(dst, bytes.TrimRight(digits[:], "0")...)
}
