package mcptool

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// secretsOf are the values that a server was given to keep: whatever it says, they are not
// repeated to the model, to people or to a log. Values of other names are often words that any result has,
// such as a date or a folder.
func secretsOf(c *Config) *secret.Mask {
	list := slices.Clone(c.Hide)
	for _, from := range []map[string]secret.Secret{c.Headers, c.Env} {
		for name, v := range from {
			if secret.Names(name) {
				list = append(list, v)
			}
		}
	}
	return secret.NewMask(list...)
}

// hide takes the server's secrets out of what it said.
func (s *server) hide(text string) string { return s.secrets.Hide(text) }

// hideIn takes them out of a result's texts. What a file holds is passed on as it is.
func (s *server) hideIn(out *tool.Output) {
	if s.secrets == nil {
		return
	}
	var across []*event.Text
	var texts []string
	for _, b := range out.Content {
		if b, ok := b.(*event.Text); ok {
			across, texts = append(across, b), append(texts, b.Text)
		}
	}
	if s.secrets.Across(texts) {
		for i, b := range across {
			b.Text = texts[i]
		}
	}
	for _, b := range out.Content {
		switch b := b.(type) {
		case *event.Text:
			b.Text = s.hide(b.Text)
		case *event.Document:
			b.Name, b.Text = s.hide(b.Name), s.hide(b.Text)
		}
	}
	if len(out.Structured) > 0 {
		out.Structured = s.hideInJSON(out.Structured)
	}
}

// hideInJSON looks at the texts as they are read: escaped they may be written in many ways. JSON
// without a secret stays as the server wrote it.
func (s *server) hideInJSON(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	found := false
	v = s.hideInValue(v, &found)
	if !found {
		return raw
	}
	again, err := json.Marshal(v)
	if err != nil || strictjson.Check(again, strictjson.DefaultDepth) != nil {
		return nil
	}
	return again
}

func (s *server) hideInValue(v any, found *bool) any {
	text := func(t string) string {
		hidden := s.hide(t)
		*found = *found || hidden != t
		return hidden
	}
	switch v := v.(type) {
	case string:
		return text(v)
	case json.Number:
		if hidden := text(v.String()); hidden != v.String() {
			return hidden
		}
	case []any:
		for i := range v {
			v[i] = s.hideInValue(v[i], found)
		}
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, one := range v {
			members[text(name)] = s.hideInValue(one, found)
		}
		return members
	}
	return v
}

// quiet is a cause without the server's secrets in its words.
type quiet struct {
	err  error
	text string
}

func (e *quiet) Error() string { return e.text }
func (e *quiet) Unwrap() error { return e.err }

func (s *server) quiet(err error) error {
	if err == nil || s.secrets == nil {
		return err
	}
	if text := s.hide(err.Error()); text != err.Error() {
		return &quiet{err, text}
	}
	return err
}
