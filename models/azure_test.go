package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
)

// azure is a resource of Azure that refuses what Azure refuses: another header for the
// key, a path or a version that it does not have, and max_tokens of models that reason.
func azure(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		no := func(status int, code, message string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"code":%q,"message":%q}}`, code, message)
		}
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		var req map[string]json.RawMessage
		version := r.URL.Query().Get("api-version")
		_, old := req["max_tokens"]
		switch {
		case r.Header.Get("Api-Key") != "azure-key" || r.Header.Get("Authorization") != "":
			no(http.StatusUnauthorized, "401", "Access denied due to invalid subscription key or wrong API endpoint.")
		case json.Unmarshal(body, &req) != nil:
			no(http.StatusBadRequest, "BadRequest", "Invalid body")
		case old:
			no(http.StatusBadRequest, "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
		case r.URL.Path == "/openai/v1/responses" && version == "":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"gpt-6.1-sol\"}}\n\n"+
				"data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"m\",\"role\":\"assistant\",\"content\":[]}}\n\n"+
				"data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"item_id\":\"m\",\"delta\":\"Yes.\"}\n\n"+
				"data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"model\":\"gpt-6.1-sol\",\"output\":[]}}\n\n")
		case r.URL.Path == "/openai/deployments/mine/chat/completions" && version == "2024-10-21":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"id\":\"i\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		default:
			no(http.StatusNotFound, "404", "Resource not found")
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestAzure(t *testing.T) {
	t.Parallel()
	server := azure(t)
	for _, base := range []string{server.URL, server.URL + "/", server.URL + "/openai/v1/"} {
		for ref, window := range map[string]int{
			"azure:mine": 0, "azure:mine?as=gpt-6.1-sol": 1_050_000, "azure:gpt-4o?version=2024-10-21": 128_000, "azure:mine?version=2024-10-21&as=gpt-4o": 128_000,
		} {
			m, err := openIn(env("AZURE_OPENAI_API_KEY", "azure-key", "AZURE_OPENAI_ENDPOINT", base), ref)
			if err != nil {
				t.Fatal(err)
			}
			if info := m.Info(); info.ContextWindow != window || !strings.HasPrefix(info.Name, "azure:") {
				t.Errorf("%s: %+v", ref, info)
			}
			err = ask(t.Context(), m, hello)
			if missing := strings.Contains(ref, "gpt-4o?"); missing != errors.Is(err, event.ErrModelNotFound) || !missing && err != nil {
				t.Errorf("%s at %s: %v", ref, base, err)
			}
		}
	}
	for _, tc := range []struct {
		vars []string
		ref  string
		kind event.ErrorKind
		says string
	}{
		{nil, "azure:mine", event.ErrInvalid, "AZURE_OPENAI_ENDPOINT"},
		{[]string{"AZURE_RESOURCE_NAME", "contoso"}, "azure:mine", event.ErrModelAuth, "AZURE_OPENAI_API_KEY"},
		{[]string{"AZURE_API_KEY", "k"}, "azure:mine?resource=contoso/evil", event.ErrInvalid, "resource has no value"},
		{[]string{"AZURE_API_KEY", "k"}, "azure:mine?version=latest", event.ErrInvalid, "version has no value"},
		{[]string{"AZURE_API_KEY", "k", "AZURE_OPENAI_ENDPOINT", "ftp://x"}, "azure:mine", event.ErrInvalid, "AZURE_OPENAI_ENDPOINT"},
		{nil, "azure", event.ErrModelNotFound, "azure:my-deployment"},
		{nil, "azure:../x", event.ErrModelNotFound, "azure:my-deployment"},
		{[]string{"AZURE_OPENAI_API_KEY", "azure-key"}, "azure:mine?base=" + server.URL, event.ErrModelAuth, "&key="},
	} {
		_, err := openIn(env(tc.vars...), tc.ref)
		if e := new(event.Error); !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(err.Error()+e.Hint, tc.says) {
			t.Errorf("%s: %v", tc.ref, err)
		}
	}
	for says, vars := range map[string][]string{
		"no Azure resource is set":         {"AZURE_API_KEY", "k"},
		"there is no key for Azure OpenAI": {"AZURE_RESOURCE_NAME", "contoso"},
		"AZURE_OPENAI_API_KEY is set":      {"AZURE_OPENAI_API_KEY", "k", "AZURE_RESOURCE_NAME", "contoso"},
	} {
		for _, st := range opener(t, Options{Env: env(vars...)}).Survey(nil) {
			if st.Provider == "azure" && (!strings.Contains(st.Why, says) || len(st.Models) > 0 || st.Ready != strings.HasSuffix(says, "KEY is set")) {
				t.Errorf("%+v, want %s", st, says)
			}
		}
	}
	m, err := openIn(env("AZURE_API_KEY", "k", "AZURE_RESOURCE_NAME", "contoso"), "azure:mine")
	if err != nil || m.Info().Name != "azure:mine" {
		t.Errorf("by the resource: %v", err)
	}
}
