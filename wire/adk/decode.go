package adk

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
)

// maxDepth bounds the levels of an event's JSON.
const maxDepth = strictjson.DefaultDepth

// Times outside of these are implausible: milliseconds that were read as seconds, or the other way round.
const (
	maxSecond  = 253402300799 // the end of the year 9999
	leastMilli = 100_000_000_000
)

// UnmarshalJSON implements [encoding/json.Unmarshaler]; see [Decode].
func (e *Event) UnmarshalJSON(data []byte) error {
	got, err := Decode(data)
	if err == nil {
		*e = got
	}
	return err
}

// Decode reads an event in either style of keys, camelCase or snake_case. An object with the same key in both styles is
// refused, as are an unknown action, which adk-python refuses too, an implausible time, and what is no JSON. Unknown fields of
// the event itself are ignored. null counts as absent, but for the values of the state. Errors are [event.ErrInvalid].
func Decode(data []byte) (Event, error) {
	var r strictjson.Reader
	r.Reset(data, maxDepth)
	d := decoder{&r}
	e := d.event()
	if err := r.End(); err != nil {
		return Event{}, invalid(err)
	}
	return e, nil
}

// DecodeList reads a list of events, as [Decode] does each. More events than most are refused.
func DecodeList(data []byte, most int) ([]Event, error) {
	var r strictjson.Reader
	r.Reset(data, maxDepth+1)
	d := decoder{&r}
	var list []Event
	for a := r.Array(); a.Next(); {
		if len(list) >= most {
			return nil, &event.Error{
				Op: "adk events", Kind: event.ErrTooLarge, Message: "there are more than " + strconv.Itoa(most) + " events",
				Hint: "send fewer",
			}
		}
		list = append(list, d.event())
	}
	if err := r.End(); err != nil {
		return nil, invalid(err)
	}
	return list, nil
}

// DecodeContent reads a content, as of newMessage of a request.
func DecodeContent(data []byte) (*Content, error) {
	var r strictjson.Reader
	r.Reset(data, maxDepth)
	d := decoder{&r}
	c := d.content()
	if err := r.End(); err != nil {
		return nil, invalid(err)
	}
	return c, nil
}

func invalid(err error) error {
	return &event.Error{
		Op: "adk event", Kind: event.ErrInvalid, Message: "this is no event of ADK: " + err.Error(),
		Hint: "send JSON as adk-python, adk-go or adk-java write it", Err: err,
	}
}

// decoder reads the parts of an event. An error stays in the reader.
type decoder struct{ *strictjson.Reader }

// object reads an object member by member with keys in camelCase, without members that are null. It reports whether there was
// one: null is none.
func (d decoder) object(member func(key string) (known bool)) bool {
	if d.Null() {
		return false
	}
	var few [24]string
	seen, snake := few[:0], false
	for o := d.Object(); o.Next(); {
		key := string(o.Key)
		if strings.IndexByte(key, '_') > 0 {
			key, snake = Camel(key), true
		}
		if snake && slices.Contains(seen, key) {
			d.Fail(d.Mark(), strictjson.DuplicateKey, "the member "+strconv.Quote(key)+" is there in both styles")
			return false
		}
		seen = append(seen, key)
		if d.Null() {
			continue
		}
		if !member(key) {
			o.Unknown()
		}
	}
	return d.Err() == nil
}

func (d decoder) event() (e Event) {
	d.object(func(key string) bool {
		switch key {
		case "id":
			e.ID = d.String()
		case "invocationId":
			e.InvocationID = d.String()
		case "author":
			e.Author = d.String()
		case "branch":
			e.Branch = d.String()
		case "timestamp":
			e.Time, e.Clock = d.time()
		case "content":
			e.Content = d.content()
		case "actions":
			e.Actions = d.actions()
		case "longRunningToolIds":
			e.LongRunning = d.strings()
		case "partial":
			e.Partial = d.flag()
		case "turnComplete":
			e.TurnComplete = d.flag()
		case "interrupted":
			e.Interrupted = d.flag()
		case "finishReason":
			e.FinishReason = d.String()
		case "errorCode":
			e.ErrorCode = d.String()
		case "errorMessage":
			e.ErrorMessage = d.String()
		case "modelVersion":
			e.ModelVersion = d.String()
		case "usageMetadata":
			e.Usage = d.usage()
		default:
			if kind, known := otherFields[key]; known {
				d.keep(&e.Other, key, kind)
			} else {
				d.Skip()
			}
		}
		return true
	})
	return e
}

func (d decoder) actions() *Actions {
	a := &Actions{}
	d.object(func(key string) bool {
		switch key {
		case "stateDelta":
			a.StateDelta = d.rawMap()
		case "artifactDelta":
			a.ArtifactDelta = d.artifacts()
		case "requestedAuthConfigs":
			a.AuthConfigs = d.rawMap()
		case "requestedToolConfirmations":
			a.Confirmations = d.rawMap()
		case "skipSummarization":
			a.SkipSummarization = d.flag()
		case "transferToAgent":
			a.TransferToAgent = d.String()
		case "escalate":
			a.Escalate = d.flag()
		default:
			kind, known := otherActions[key]
			if known {
				d.keep(&a.Other, key, kind)
			}
			return known
		}
		return true
	})
	return a
}

func (d decoder) artifacts() map[string]Artifact {
	m := map[string]Artifact{}
	for o := d.Object(); o.Next(); {
		name := string(o.Key)
		if d.Peek() == '{' { // older Java
			p := d.part()
			m[name] = Artifact{Part: &p}
		} else {
			at := d.Mark()
			v := d.Int64()
			if v < 0 {
				d.Fail(at, strictjson.BadValue, "the version of an artifact is below 0")
			}
			m[name] = Artifact{Version: v}
		}
	}
	return m
}

func (d decoder) content() *Content {
	c := &Content{}
	there := d.object(func(key string) bool {
		switch key {
		case "role":
			c.Role = d.String()
		case "parts":
			c.Parts = []Part{}
			for a := d.Array(); a.Next(); {
				c.Parts = append(c.Parts, d.part())
			}
		default:
			return false
		}
		return true
	})
	if !there {
		return nil
	}
	return c
}

func (d decoder) part() (p Part) {
	d.object(func(key string) bool {
		switch key {
		case "text":
			text := d.String()
			p.Text = &text
		case "thought":
			p.Thought = d.flag()
		case "thoughtSignature":
			p.Signature = d.String()
		case "functionCall":
			p.Call = d.call()
		case "functionResponse":
			p.Response = d.response()
		case "inlineData":
			p.Inline = &Blob{}
			d.texts(map[string]*string{"mimeType": &p.Inline.MIME, "data": &p.Inline.Data, "displayName": &p.Inline.Name})
		case "fileData":
			p.File = &File{}
			d.texts(map[string]*string{"mimeType": &p.File.MIME, "fileUri": &p.File.URI, "displayName": &p.File.Name})
		case "executableCode":
			p.Code = &Code{}
			d.texts(map[string]*string{"id": &p.Code.ID, "language": &p.Code.Language, "code": &p.Code.Code})
		case "codeExecutionResult":
			p.CodeResult = &CodeResult{}
			d.texts(map[string]*string{"id": &p.CodeResult.ID, "outcome": &p.CodeResult.Outcome, "output": &p.CodeResult.Output})
		default:
			kind, known := otherParts[key]
			if known {
				d.keep(&p.Other, key, kind)
			}
			return known
		}
		return true
	})
	return p
}

func (d decoder) call() *Call {
	c := &Call{}
	d.object(func(key string) bool {
		switch key {
		case "id":
			c.ID = d.String()
		case "name":
			c.Name = d.String()
		case "args":
			c.Args = d.raw('{')
		default:
			return d.rest(&c.Other, key)
		}
		return true
	})
	return c
}

func (d decoder) response() *Response {
	r := &Response{}
	d.object(func(key string) bool {
		switch key {
		case "id":
			r.ID = d.String()
		case "name":
			r.Name = d.String()
		case "response":
			r.Response = d.raw('{')
		default:
			return d.rest(&r.Other, key)
		}
		return true
	})
	return r
}

func (d decoder) usage() *Usage {
	u := &Usage{}
	d.object(func(key string) bool {
		switch key {
		case "promptTokenCount":
			u.Prompt = d.Int64()
		case "candidatesTokenCount":
			u.Candidates = d.Int64()
		case "totalTokenCount":
			u.Total = d.Int64()
		case "cachedContentTokenCount":
			u.Cached = d.Int64()
		case "thoughtsTokenCount":
			u.Thoughts = d.Int64()
		default:
			return d.rest(&u.Other, key)
		}
		return true
	})
	return u
}

// time reads a time: a number of seconds, an integer of milliseconds or a string.
func (d decoder) time() (t time.Time, c Clock) {
	at := d.Mark()
	refuse := func() (time.Time, Clock) {
		d.Fail(at, strictjson.BadValue, "the timestamp is implausible")
		return time.Time{}, Seconds
	}
	if d.Peek() == '"' {
		t, err := time.Parse(time.RFC3339Nano, d.String())
		if err != nil || t.Unix() < 0 || t.Unix() > maxSecond {
			return refuse()
		}
		return t.UTC(), RFC3339
	}
	text := string(d.Raw(0))
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 0 || strings.ContainsAny(fraction, "eE+-") {
		return refuse()
	}
	if n >= leastMilli { // as seconds that would be after the year 5138
		if n > maxSecond*1000 || fraction != "" {
			return refuse()
		}
		return time.UnixMilli(n).UTC(), Milliseconds
	}
	nano, _ := strconv.Atoi((fraction + "000000000")[:9])
	return time.Unix(n, int64(nano)).UTC(), Seconds
}

func (d decoder) flag() Flag {
	if d.Bool() {
		return True
	}
	return False
}

func (d decoder) strings() []string {
	list := []string{}
	for a := d.Array(); a.Next(); {
		list = append(list, d.String())
	}
	return list
}

func (d decoder) texts(fields map[string]*string) {
	d.object(func(key string) bool {
		field := fields[key]
		if field != nil {
			*field = d.String()
		}
		return field != nil
	})
}

// raw reads a value that begins with a byte.
func (d decoder) raw(begins byte) json.RawMessage {
	if c := d.Peek(); c != begins && c != 0 {
		d.Fail(d.Mark(), strictjson.WrongType, "an object is wanted here")
		return nil
	}
	return d.Raw(maxDepth)
}

func (d decoder) rawMap() map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for o := d.Object(); o.Next(); {
		key := string(o.Key)
		m[key] = d.Raw(maxDepth)
	}
	return m
}
