package models_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/pricing"
	"github.com/braidrun/braid/secret"
)

// A model with a key of its own is asked with that one and no other, and costs what was said.
func TestOpenOwn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var keys []string
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys = append(keys, r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key")+r.Header.Get("Authorization"))
		mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer vendor.Close()
	env := map[string]string{
		"ANTHROPIC_API_KEY": "operator", "ANTHROPIC_BASE_URL": vendor.URL, "OPENAI_API_KEY": "operator", "OPENAI_BASE_URL": vendor.URL + "/v1",
		"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "operator", "GOOGLE_GEMINI_BASE_URL": vendor.URL, "AWS_ACCESS_KEY_ID": "operator",
		"AWS_SECRET_ACCESS_KEY": "operator", "AWS_SESSION_TOKEN": "operator", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": vendor.URL,
		"ANTHROPIC_BEDROCK_BASE_URL": vendor.URL,
	}
	o, err := models.NewOpener(models.Options{Env: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"anthropic:claude-x", "openai:gpt-x", "gemini:gemini-x", "bedrock:anthropic.claude-x"} {
		keys = nil
		m, err := o.OpenOwn(models.Own{Ref: ref, Key: secret.New("tenant"), Region: "eu-west-1"})
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		for _, err := range m.Stream(t.Context(), &model.Request{Messages: []event.Message{{
			Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "hi"}},
		}}}) {
			if err == nil {
				t.Errorf("%s: it answers", ref)
			}
		}
		if len(keys) == 0 {
			t.Errorf("%s: nobody was asked", ref)
		}
		for _, key := range keys {
			if strings.TrimPrefix(key, "Bearer ") != "tenant" {
				t.Errorf("%s: asked with %q", ref, key)
			}
		}
	}
	price := &pricing.Price{Rates: pricing.Rates{Input: pricing.Free(), Output: pricing.Free(), CacheRead: pricing.Free(), CacheWrite: pricing.Free()}}
	m, err := o.OpenOwn(models.Own{Ref: "anthropic:claude-of-mine", Price: price})
	if err != nil {
		t.Fatal(err)
	}
	if nano, known := m.Info().Cost(event.Usage{Input: 7, Output: 7}); nano != 0 || !known || models.PriceOf(m) != price {
		t.Errorf("it costs %d (%v)", nano, known)
	}
	for ref, kind := range map[string]event.ErrorKind{
		"demo:tour": event.ErrInvalid, "nobody:x": event.ErrModelNotFound, "demo:./file.yaml": event.ErrModelNotFound,
		"anthropic:x?base=http://127.0.0.1": event.ErrModelNotFound,
	} {
		if _, err := o.OpenOwn(models.Own{Ref: ref, Key: secret.New("tenant")}); !errors.Is(err, kind) {
			t.Errorf("%s: %v, want %s", ref, err, kind)
		}
	}
}
