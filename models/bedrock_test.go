package models

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
	"github.com/braidrun/braid/model/modeltest"
)

// Settings of a Bedrock model's string reach the API; a request's own win.
func TestBedrockBySettings(t *testing.T) {
	t.Parallel()
	keys := func(url string) func(string) string {
		return env("AWS_BEARER_TOKEN_BEDROCK", bedrocktest.Key, "AWS_REGION", bedrocktest.Region, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)
	}
	for _, c := range []struct {
		ref  string
		own  model.Options
		want []string
	}{
		{
			"bedrock:us.amazon.nova-2-lite-v1:0?effort=low&tier=flex&top_p=0.9",
			model.Options{},
			[]string{`"topP":0.9`, `"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}`, `"serviceTier":{"type":"flex"}`},
		},
		{
			"bedrock:us.amazon.nova-2-lite-v1:0?effort=low&tier=optimized",
			model.Options{Effort: "medium"},
			[]string{`"maxReasoningEffort":"medium"`, `"performanceConfig":{"latency":"optimized"}`},
		},
		{
			"bedrock:us.anthropic.claude-sonnet-4-6?api=converse&effort=max&cache=hour",
			model.Options{},
			[]string{`"output_config":{"effort":"max"}`, `"cachePoint":{"type":"default","ttl":"1h"}`},
		},
		{
			"bedrock:us.anthropic.claude-opus-5?api=converse&show=yes&cache=off",
			model.Options{},
			[]string{`"thinking":{"type":"adaptive","display":"summarized"}`},
		},
		{
			"bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0?api=converse&thinking=2000",
			model.Options{},
			[]string{`"budget_tokens":2000`},
		},
	} {
		server := bedrocktest.Start(bedrocktest.Text("Hello."))
		t.Cleanup(server.Close)
		m, err := opener(t, Options{Env: keys(server.URL)}).Open(c.ref)
		if err != nil {
			t.Errorf("%s: %v", c.ref, err)
			continue
		}
		req := &model.Request{Messages: []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "q"}}}}, Options: c.own}
		if err := modeltest.Call(t.Context(), m, req).Err; err != nil {
			t.Errorf("%s: %v", c.ref, err)
		}
		body := string(server.Asked()[0].Body)
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s in %s", c.ref, want, body)
			}
		}
		if strings.Contains(c.ref, "cache=off") && strings.Contains(body, "cachePoint") {
			t.Errorf("%s: %s", c.ref, body)
		}
	}
	// What cannot be kept is told when an agent is made, and never sent.
	m, err := opener(t, Options{Env: keys("http://127.0.0.1:1")}).Open("bedrock:amazon.nova-pro-v1:0?effort=high")
	if err != nil {
		t.Fatal(err)
	}
	for below := m; below != nil; {
		if c, ok := below.(model.Checker); ok {
			if err := c.Check(&model.Request{}); !errors.Is(err, event.ErrUnsupported) {
				t.Error(err)
			}
			return
		}
		w, ok := below.(interface{ Unwrap() model.Model })
		if !ok {
			break
		}
		below = w.Unwrap()
	}
	t.Error("nothing checks the settings")
}

// The profile of an SSO session signs in to AWS. Its token is no key of Bedrock's and is not sent
// to it.
func TestAnSSOSessionIsNoKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte("[profile work]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = dev\nregion = us-east-1\n"+
		"[sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://corp.awsapps.com/start\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup := env("AWS_PROFILE", "work", "AWS_CONFIG_FILE", file, "AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "none"))
	g := &opening{env: lookup, provider: provider{name: "bedrock", title: "Amazon Bedrock"}}
	cfg, err := g.aws("amazon.nova-pro-v1:0", "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.BearerAuthTokenProvider != nil || cfg.Credentials == nil {
		t.Errorf("the session's token is taken for a key: %+v", cfg.BearerAuthTokenProvider)
	}
}
