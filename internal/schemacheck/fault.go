package schemacheck

import (
	"errors"
	"strconv"
	"strings"
)

var (
	// ErrBudget says that a check needed more steps, depth or parts than it may use.
	ErrBudget = errors.New("checking it against the schema takes too many steps")
	// ErrStopped says that the stop channel closed before the check was over.
	ErrStopped = errors.New("checking it against the schema was stopped")
)

// Refusal says why a schema cannot be used. Its words are safe to show to whoever sent the schema.
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

// Misfit says why a value is not valid.
type Misfit struct {
	at *value
	// keyword failed; say makes its text when somebody asks for it.
	keyword string
	say     func() string
}

// Error implements error: the place in the value, the keyword and what is wrong, in at most
// some 500 bytes.
func (m *Misfit) Error() string {
	text := m.keyword + ": " + m.say()
	if path := m.at.path(); path != "" {
		text = path + ": " + text
	}
	return text
}

// path is the place of a value in words that people use: a.b[3].
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

// pointer is the place of a value as a JSON pointer.
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

// clip cuts a text at a character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}

// names lists names in a message.
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
