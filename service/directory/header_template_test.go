package directory_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/directory"
)

// A template is read once: what a token contains is not read again.
func TestHeaderTemplates(t *testing.T) {
	t.Parallel()
	tokens := map[string]secret.Secret{
		"a": secret.New("alpha"), "b": secret.New("${a}"), "long": secret.New(strings.Repeat("x", 9<<10)), "empty": {},
		"break": secret.New("one\r\nX-Evil: two"), "bell": secret.New("one\x07two"), "c1": secret.New("one\u0085two"),
	}
	for text, want := range map[string]string{
		"plain": "plain", "Bearer ${a}": "Bearer alpha", "${a}${a}-${b}": "alphaalpha-${a}", "$a {a} $": "$a {a} $", "": "",
	} {
		tpl, what := directory.ParseHeaderTemplate(text)
		got, err := tpl.Fill(tokens)
		if what != "" || err != nil || got.Reveal() != want {
			t.Errorf("%q gives %q, %s %v", text, got.Reveal(), what, err)
		}
	}
	tpl, _ := directory.ParseHeaderTemplate("${b} ${a} ${b}")
	if diff := cmp.Diff([]string{"b", "a"}, tpl.Names()); diff != "" {
		t.Error(diff)
	}
	for name, code := range map[string]string{
		"nothing": "TOKEN_MISSING", "empty": "TOKEN_MISSING", "break": "TOKEN_INVALID", "bell": "TOKEN_INVALID", "c1": "TOKEN_INVALID", "long": "TOKEN_INVALID",
	} {
		tpl, what := directory.ParseHeaderTemplate("Bearer ${" + name + "}")
		_, err := tpl.Fill(tokens)
		var e *event.Error
		if what != "" || !errors.As(err, &e) || e.Kind != event.ErrInvalid || e.Code != code || !strings.Contains(e.Message, `"`+name+`"`) {
			t.Errorf("%s: %s %v", name, what, err)
		} else if strings.Contains(err.Error(), "Evil") || strings.Contains(err.Error(), "xxx") {
			t.Errorf("%s: the error contains the value: %v", name, err)
		}
	}
	for _, text := range []string{"${", "${}", "${a b}", "${a", "x${${a}}", "a\nb", "\x00", "\xff", strings.Repeat("x", 5000), "${" + strings.Repeat("n", 201) + "}"} {
		if _, what := directory.ParseHeaderTemplate(text); what == "" {
			t.Errorf("%.20q is a template", text)
		}
	}
}

func FuzzHeaderTemplate(f *testing.F) {
	for _, s := range []string{"Bearer ${a}", "${a}${b}", "${", "$${a}}", "${a${b}}"} {
		f.Add(s, "value", "${a}")
	}
	f.Fuzz(func(t *testing.T, text, a, b string) {
		tpl, what := directory.ParseHeaderTemplate(text)
		if what != "" {
			return
		}
		got, err := tpl.Fill(map[string]secret.Secret{"a": secret.New(a), "b": secret.New(b)})
		if err == nil && strings.ContainsAny(got.Reveal(), "\r\n\x00") {
			t.Errorf("%q is sent as %q", text, got.Reveal())
		}
	})
}
