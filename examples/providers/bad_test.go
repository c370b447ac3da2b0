package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/gemini"
	"github.com/braidrun/braid/model/gemini/geminitest"
	"github.com/braidrun/braid/model/openai"
	"github.com/braidrun/braid/model/openai/openaitest"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/tool"
)

// opened opens a model in an environment.
func opened(t *testing.T, ref string, env map[string]string) (braid.Model, error) {
	t.Helper()
	opener, err := models.NewOpener(models.Options{Env: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	return opener.Open(ref)
}

// told fails the test unless an error says what happened and what to do next.
func told(t *testing.T, what string, err error, kind event.ErrorKind, words ...string) {
	t.Helper()
	var e *event.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Message == "" || e.Hint == "" {
		t.Errorf("%s: %v, want %s with a hint", what, err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: nobody says %q: %v", what, w, err)
		}
	}
}

// What cannot be opened is told when it is opened.
func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ref   string
		kind  event.ErrorKind
		words []string
	}{
		{"bedrok:amazon.nova-pro-v1:0", event.ErrModelNotFound, []string{"bedrock"}},
		{"watson:granite", event.ErrModelNotFound, []string{"anthropic"}},
		{"anthropic:claude-sonnet-5-5", event.ErrModelAuth, []string{"ANTHROPIC_API_KEY"}},
		{"openai:gpt-5.4", event.ErrModelAuth, []string{"OPENAI_API_KEY"}},
		{"gemini:gemini-3.6-flash", event.ErrModelAuth, []string{"GEMINI_API_KEY"}},
	} {
		m, err := opened(t, tc.ref, nil)
		if m != nil {
			t.Errorf("%s is there", tc.ref)
		}
		told(t, tc.ref, err, tc.kind, tc.words...)
	}
}

// What the vendor refuses is told with the next step: a region that does not have
// the model, and a key that may not ask it.
func TestWhatTheVendorRefuses(t *testing.T) {
	t.Parallel()
	claude := anthropictest.Start(anthropictest.Error(http.StatusForbidden, "permission_error", "Your API key does not have permission to use the specified resource."))
	t.Cleanup(claude.Close)
	aws := bedrocktest.Start(
		bedrocktest.Error(http.StatusBadRequest, "ValidationException", "The provided model identifier is invalid."),
		bedrocktest.Error(http.StatusForbidden, "AccessDeniedException", "You don't have access to the model with the specified model ID."),
	)
	t.Cleanup(aws.Close)
	google := geminitest.Start(geminitest.Error(http.StatusForbidden, "PERMISSION_DENIED", "Generative Language API has not been used in project 1 before or it is disabled."))
	t.Cleanup(google.Close)
	gpt := openaitest.Start(openaitest.Error(http.StatusForbidden, "invalid_request_error", "", "You have insufficient permissions for this operation. Missing scopes: model.request."))
	gpt.Compatible = true
	t.Cleanup(gpt.Close)
	region := onBedrock(bedrocktest.Key, aws.URL)
	for _, tc := range []struct {
		what, ref string
		env       map[string]string
		kind      event.ErrorKind
		words     []string
	}{
		{"a key of Anthropic's", "anthropic", map[string]string{anthropic.KeyVariable: anthropictest.Key, anthropic.BaseVariable: claude.URL}, event.ErrModelAuth, nil},
		{"a region without the model", "bedrock:amazon.nova-pro-v1:0", region, event.ErrModelNotFound, []string{"region"}},
		{"a key of Bedrock's", "bedrock:amazon.nova-pro-v1:0", region, event.ErrModelAuth, nil},
		{"a key of Google's", "gemini", map[string]string{gemini.KeyVariable: geminitest.Key, gemini.BaseVariable: google.URL}, event.ErrModelAuth, nil},
		{"a key of OpenAI's", "openai:gpt-5.4", map[string]string{openai.KeyVariable: openaitest.Key, openai.BaseVariable: gpt.URL}, event.ErrModelAuth, nil},
	} {
		m, err := opened(t, tc.ref, tc.env)
		if err != nil {
			t.Fatal(err)
		}
		_, err = calculator(m).Run(t.Context(), question)
		told(t, tc.what, err, tc.kind, tc.words...)
	}
}

// A tool whose schema the vendor cannot take is told when the agent is made.
func TestASchemaThatCannotBeSaid(t *testing.T) {
	t.Parallel()
	for i := range providers {
		p := &providers[i]
		m, end, err := p.open(script)
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		err = braid.New("a", m, braid.Tools(elsewhere{})).Err()
		if err == nil {
			if p.serve != nil {
				t.Errorf("%s: nobody says that a schema refers to elsewhere", p.name)
			}
			continue
		}
		if kind := event.KindOf(err); kind != event.ErrInvalid {
			told(t, p.name, err, event.ErrUnsupported)
		} else {
			told(t, p.name, err, event.ErrInvalid)
		}
	}
}

// elsewhere is a tool whose schema stands on another machine.
type elsewhere struct{}

func (elsewhere) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: "look", Description: "Looks.", Schema: []byte(`{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`),
	}
}

func (elsewhere) Call(context.Context, json.RawMessage) (tool.Output, error) {
	return tool.Output{}, nil
}
