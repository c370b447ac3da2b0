package schemacheck

import (
	"errors"
	"strconv"
	"strings"
)

var (
	// ErrBudget reports that a check needed more steps, depth or parts than allowed.
	ErrBudget = errors.New("checking it against the schema takes too many steps")
	// ErrStopped reports that the stop channel closed before the check ended.
	ErrStopped = errors.New("checking it against the schema was stopped")
)

// Refusal reports why a schema cannot be used. Its text is safe to show to the sender of the
// schema.
type Refusal struct {
	// At is a JSON pointer into the schema; "" is the top.
	At string
	// Text is the problem, without a full stop.
	Text string
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.At == "" {
		return r.Text
	}
	return "at " + r.At + ": " + r.Text
}

// Misfit reports why a value is not valid.
type Misfit struct {
	at *value
	// keyword is the one that failed.
	keyword string
	// say returns the message. It is called only if somebody reads it.
	say func() string
}

// Error returns the path in the value, the keyword and the problem, in at most about 500 bytes.
func (m *Misfit) Error() string {
	text := m.keyword + ": " + m.say()
	if path := m.at.path(); path != "" {
		text = path + ": " + text
	}
	return text
}

// path returns the path of a value in the form a.b[3].
func (v *value) path() string {
	const most = 12
	var steps []string
	for ; v != nil && v.up != nil; v = v.up {
		if v.up.kind == '[' {
			steps = append(steps, "["+strconv.Itoa(v.at)+"]")
		} else {
			steps = append(steps, "."+clip(v.up.keys[v.at], 40))
		}
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		if i < len(steps)-most && i >= 0 {
			b.WriteString("…")
			break
		}
		b.WriteString(steps[i])
	}
	return strings.TrimPrefix(b.String(), ".")
}

// pointer returns the JSON pointer of a value.
func (v *value) pointer() string {
	const most = 12
	var steps []string
	for ; v != nil && v.up != nil; v = v.up {
		step := strconv.Itoa(v.at)
		if v.up.kind == '{' {
			step = strings.ReplaceAll(strings.ReplaceAll(clip(v.up.keys[v.at], 40), "~", "~0"), "/", "~1")
		}
		steps = append(steps, step)
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		if i < len(steps)-most {
			b.WriteString("/…")
			break
		}
		b.WriteString("/" + steps[i])
	}
	return b.String()
}

// clip cuts a text at a character boundary.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}

// names joins names for a message.
func names(list []string) string {
	const most = 8
	var b strings.Builder
	for i, s := range list {
		if i == most {
			b.WriteString(" and " + strconv.Itoa(len(list)-most) + " more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(clip(s, 40)))
	}
	return b.String()
}
