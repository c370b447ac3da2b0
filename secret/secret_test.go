package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/braidrun/braid/secret"
)

const key = "sk-ant-REALKEY-0123456789"

// shown fails when any piece of the key, or its bytes in hexadecimal, is in text.
func shown(t *testing.T, how, text string) {
	t.Helper()
	low := strings.ToLower(text)
	for _, trace := range []string{"realkey", "23456789", fmt.Sprintf("%x", "REALKEY"), "82 69 65 76", "0x52, 0x45"} {
		if strings.Contains(low, trace) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
	}
}

type open struct {
	Name string
	Key  secret.Secret
	Ptr  *secret.Secret
}

type closed struct {
	name string
	key  secret.Secret
	ptr  *secret.Secret
	any  any
	list []secret.Secret
	keys map[string]secret.Secret
}

func TestNoVerbShowsIt(t *testing.T) {
	t.Parallel()
	s := secret.New(key)
	values := map[string]any{
		"itself": s, "a pointer": &s, "a struct": open{"n", s, &s}, "its pointer": &open{"n", s, &s},
		"hidden fields": closed{"n", s, &s, s, []secret.Secret{s}, map[string]secret.Secret{"k": s}},
		"their pointer": &closed{"n", s, &s, &s, []secret.Secret{s}, map[string]secret.Secret{"k": s}},
		"a list":        []secret.Secret{s}, "a map": map[string]any{"k": s}, "an error": fmt.Errorf("key %v: %w", s, errors.New("x")),
	}
	flags := []string{"", "+", "#", "-", " ", "0", "30", ".3", "+#", "x"}
	for name, v := range values {
		for verb := 'A'; verb <= 'z'; verb++ {
			for _, flag := range flags {
				format := "%" + flag + string(verb)
				shown(t, name+" by "+format, fmt.Sprintf(format, v))
			}
		}
		shown(t, name+" by Sprint", fmt.Sprint(v)+fmt.Sprintln(v))
		shown(t, name+" by Errorf", fmt.Errorf("%v %+v %#v", v, v, v).Error())
	}
	for format, want := range map[string]string{
		"%v": secret.Redacted, "%s": secret.Redacted, "%d": secret.Redacted, "%x": secret.Redacted,
		"%q": `"[redacted]"`, "%#v": `secret.New("[redacted]")`,
	} {
		if got := fmt.Sprintf(format, s); got != want {
			t.Errorf("%s gives %s, want %s", format, got, want)
		}
	}
	if got := fmt.Sprintf("%v|%s|%q", secret.Secret{}, secret.Secret{}, secret.Secret{}); got != `||""` {
		t.Errorf("none gives %s", got)
	}
}

func TestNoEncoderShowsIt(t *testing.T) {
	t.Parallel()
	s := secret.New(key)
	v := open{"n", s, &s}
	j, err := json.Marshal(map[string]any{"v": v, "list": []secret.Secret{s}})
	if err != nil || !strings.Contains(string(j), secret.Redacted) {
		t.Errorf("json: %s, %v", j, err)
	}
	shown(t, "json", string(j))
	x, err := xml.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	shown(t, "xml", string(x))
	var g bytes.Buffer
	_ = gob.NewEncoder(&g).Encode(v) // whatever it says
	shown(t, "gob", g.String())
}

func TestNoLogShowsIt(t *testing.T) {
	t.Parallel()
	s := secret.New(key)
	var b bytes.Buffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&b, nil), slog.NewTextHandler(&b, nil)} {
		slog.New(h).Info("call", "key", s, "ptr", &s, "config", open{"n", s, &s}, "hidden", closed{key: s, ptr: &s},
			slog.Group("g", "key", s), "err", fmt.Errorf("with %v", s))
	}
	if !strings.Contains(b.String(), secret.Redacted) {
		t.Error("the log does not say that something was left out")
	}
	shown(t, "slog", b.String())
}

func TestItIsKept(t *testing.T) {
	t.Parallel()
	s := secret.New("  " + key + "\n")
	if s.Reveal() != key || s.Empty() || !s.Equal(secret.New(key)) || s.Equal(secret.New(key+"x")) || s.Equal(secret.Secret{}) {
		t.Error("a secret is not what it was made of")
	}
	if none := secret.New(" \n"); !none.Empty() || none.Reveal() != "" || !none.Equal(secret.Secret{}) {
		t.Error("blank is no secret")
	}
	if got := s.Hide("x " + key + " y " + key); got != "x [redacted] y [redacted]" {
		t.Errorf("Hide: %s", got)
	}
	if got := (secret.Secret{}).Hide("abc"); got != "abc" {
		t.Errorf("Hide of none: %s", got)
	}
}

func TestItIsReadFromText(t *testing.T) {
	t.Parallel()
	var c open
	if err := json.Unmarshal([]byte(`{"Name":"n","Key":"`+key+`"}`), &c); err != nil || c.Key.Reveal() != key {
		t.Errorf("%v", err)
	}
	err := json.Unmarshal([]byte(`{"Key":"[redacted]"}`), &c)
	if err == nil {
		t.Error("a redacted secret is read as one")
	}
}

// What somebody else has written otherwise is hidden too.
func TestHideForms(t *testing.T) {
	t.Parallel()
	const plain = "planted/secret+of=a test"
	s := secret.New(plain)
	for n := range 4 {
		before := strings.Repeat("x", n)
		for _, text := range []string{
			before + plain, url.QueryEscape(before + plain), url.PathEscape(before + plain),
			base64.StdEncoding.EncodeToString([]byte(before + plain + "and more")), base64.RawURLEncoding.EncodeToString([]byte(before + plain)),
		} {
			if got := s.Hide("the key " + text + "."); !strings.Contains(got, secret.Redacted) || len(got) > 40 {
				t.Errorf("%q becomes %q", text, got)
			}
		}
	}
	if got := secret.New("abc").Hide("YWJj abc"); got != "YWJj "+secret.Redacted {
		t.Errorf("a short one: %q", got)
	}
}
