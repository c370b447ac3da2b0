package main

import (
	"strings"
	"testing"

	"github.com/braidrun/braid/model/openai/openaitest"
)

// The flags' settings are in the vendor's request, in its own form.
func TestFlagsReachTheVendor(t *testing.T) {
	t.Parallel()
	vendor := openaitest.Start(openaitest.Text(openaitest.Responses, "Hello."))
	t.Cleanup(vendor.Close)
	p, out, errs := real(t, map[string]string{"OPENAI_API_KEY": openaitest.Key, "OPENAI_BASE_URL": vendor.URL},
		"run", "-m", "openai:gpt-5.4?api=responses", "--ephemeral", "--context", "none", "hello", "--effort", "high", "--show-thinking", "--verbosity", "low", "--service-tier", "flex",
		"--server-tool", "web_search", "--model-extra", `metadata={"team": "search"}`, "--model-header", "X-Team=search")
	if code := p.run(t.Context()); code != 0 || !strings.Contains(out.String(), "Hello.") {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	asked := vendor.Asked()[0]
	for _, want := range []string{`"effort":"high"`, `"summary":"auto"`, `"verbosity":"low"`, `"service_tier":"flex"`, `"type":"web_search"`, `"metadata":{"team"`} {
		if !strings.Contains(string(asked.Body), want) {
			t.Errorf("no %s in %s", want, asked.Body)
		}
	}
	if asked.Header.Get("X-Team") != "search" {
		t.Errorf("header %v", asked.Header)
	}
	// A setting that the model does not have is an error before anything is sent.
	p2, _, errs2 := real(t, map[string]string{"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": vendor.URL},
		"run", "-m", "gemini:gemini-3.6-flash", "--ephemeral", "hello", "--verbosity", "low")
	if code := p2.run(t.Context()); code == 0 || errs2.Len() == 0 || len(vendor.Asked()) != 1 {
		t.Errorf("%d: %s", code, errs2)
	}
}
