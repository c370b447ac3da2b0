package mcptool

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool"
)

// secretsOf are the values that a server was given to keep: whatever it says, they are not
// repeated to the model, to people or to a log. Values of other names are often words that any result has,
// such as a date or a folder.
func secretsOf(c *Config) *secret.Mask { return secret.NewMask(listedSecrets(c)...) }

func listedSecrets(c *Config) []secret.Secret {
	list := slices.Clone(c.Hide)
	for _, from := range []map[string]secret.Secret{c.Headers, c.Env} {
		for name, v := range from {
			if secret.Names(name) {
				list = append(list, v)
			}
		}
	}
	return list
}

// mask finds the server's secrets, and the tokens of the user who is signed in.
func (s *server) mask() *secret.Mask {
	if s.login == nil {
		return s.secrets
	}
	tokens, n := s.login.Secrets()
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	if s.tokens.mask == nil || s.tokens.of != n {
		s.tokens.mask, s.tokens.of = secret.NewMask(append(listedSecrets(&s.config), tokens...)...), n
	}
	return s.tokens.mask
}

// tokenMask is the mask of a server with a user who is signed in.
type tokenMask struct {
	mu   sync.Mutex
	of   int64
	mask *secret.Mask
}

// hide takes the server's secrets out of what it said.
func (s *server) hide(text string) string { return s.mask().Hide(text) }

// hideIn takes them out of a result's texts. What a file holds is passed on as it is.
func (s *server) hideIn(out *tool.Output) {
	mask := s.mask()
	if mask == nil {
		return
	}
	var across []*event.Text
	var texts []string
	for _, b := range out.Content {
		if b, ok := b.(*event.Text); ok {
			across, texts = append(across, b), append(texts, b.Text)
		}
	}
	if mask.Across(texts) {
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
	if err == nil || s.mask() == nil {
		return err
	}
	if text := s.hide(err.Error()); text != err.Error() {
		return &quiet{err, text}
	}
	return err
}
