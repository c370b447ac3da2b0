package anthropic_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/anthropic"
	"github.com/braidrun/braid/model/anthropic/anthropictest"
)

// wrapped is a model in a wrapper, as the loop's callers have it.
type wrapped struct{ model.Model }

func (w wrapped) Unwrap() model.Model { return w.Model }

// Each platform counts what it would read, at its own address, and takes the request: members
// that only an answer needs are left out there.
func TestCountTokens(t *testing.T) {
	t.Parallel()
	req := hello()
	req.Instructions = strings.Repeat("word ", 400)
	req.Tools = []model.ToolSpec{{Name: "add", Description: "Adds."}}
	req.Options = model.Options{MaxTokens: 4000, Thinking: 2000, StopWords: []string{"END"}}
	own, api := open(t, sonnet, nil)
	amazon, bedrock := openBedrock(t, haiku, nil)
	google, vertex := openVertex(t, "claude-haiku-4-5@20251001", nil)
	for name, tc := range map[string]struct {
		m      model.Model
		server *anthropictest.Server
		path   string
	}{
		"api":     {own, api, "/v1/messages/count_tokens"},
		"bedrock": {amazon, bedrock, "/model/anthropic.claude-haiku-4-5-20251001-v1:0/count-tokens"},
		"vertex":  {google, vertex, "/v1/projects/test-project/locations/us-east5/publishers/anthropic/models/count-tokens:rawPredict"},
	} {
		few, err := model.Count(t.Context(), wrapped{tc.m}, hello())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		many, err := model.Count(t.Context(), wrapped{tc.m}, req)
		if err != nil || few < 10 || many < few+400 {
			t.Errorf("%s: %d, then %d, %v", name, few, many, err)
		}
		asked := tc.server.Asked()
		if n := len(asked); n != 2 || asked[1].Path != tc.path || asked[1].Refused != "" {
			t.Errorf("%s: %d requests, %+v", name, n, asked[len(asked)-1])
		}
	}
}

func TestCountingFails(t *testing.T) {
	t.Parallel()
	m, server := open(t, sonnet, nil)
	server.Window = 100
	long := hello()
	long.Instructions = strings.Repeat("word ", 1000)
	arn := "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/x"
	alias, _ := openBedrock(t, arn, nil)
	nova, _ := openBedrock(t, "us.anthropic.sonnet", nil)
	for name, tc := range map[string]struct {
		m    *anthropic.Model
		req  *model.Request
		want event.ErrorKind
	}{
		"nothing to ask":   {m, &model.Request{}, event.ErrInvalid},
		"too long":         {m, long, event.ErrContextOverflow},
		"no model":         {nova, hello(), event.ErrModelNotFound},
		"an opaque ARN":    {alias, hello(), event.ErrModelNotFound},
		"a broken setting": {m, &model.Request{Messages: hello().Messages, ToolChoice: model.ToolChoice{Mode: "x"}, Tools: []model.ToolSpec{{Name: "f"}}}, event.ErrUnsupported},
	} {
		n, err := tc.m.CountTokens(t.Context(), tc.req)
		var e *event.Error
		if n != 0 || !errors.As(err, &e) || e.Kind != tc.want {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	for body, want := range map[string]event.ErrorKind{
		`{"input_tokens":-1}`: event.ErrModel, `{}`: event.ErrModel, `[]`: event.ErrModel, `{"input_tokens":"x"}`: event.ErrStreamCut,
		`{"input_tokens":`: event.ErrStreamCut, `{"input_tokens":1` + strings.Repeat(" ", 2<<20): event.ErrStreamCut,
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
		for name, m := range places(t, s.URL, s.Client()) {
			n, err := m.CountTokens(t.Context(), hello())
			if n != 0 || !errors.Is(err, want) {
				t.Errorf("%s: %.40q: %d, %v", name, body, n, err)
			}
		}
	}
	// AWS counts for some models only.
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Amzn-ErrorType", "ValidationException")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"message":"The provided model doesn't support counting tokens."}`)
	})
	if _, err := places(t, s.URL, s.Client())["bedrock"].CountTokens(t.Context(), hello()); !errors.Is(err, event.ErrUnsupported) || !strings.Contains(err.Error(), "Request.Tokens") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.CountTokens(ctx, hello()); !errors.Is(err, event.ErrCancelled) {
		t.Errorf("%v", err)
	}
}
