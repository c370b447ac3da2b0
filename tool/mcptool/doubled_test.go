package mcptool_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool/mcptool"
)

// twofaced is an MCP server over HTTP, by hand, whose answers say two things at once.
func twofaced(t *testing.T) mcptool.Config {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name            string `json:"name"`
				ProtocolVersion string `json:"protocolVersion"`
			} `json:"params"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(map[bool]int{true: http.StatusAccepted, false: http.StatusMethodNotAllowed}[r.Method == http.MethodPost])
			return
		}
		text := func(s string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, m.ID, s)
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.Method == "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"0"}}}`,
				m.ID, m.Params.ProtocolVersion)
		case m.Method == "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"doubled","inputSchema":{"type":"object"}},`+
				`{"name":"again","inputSchema":{"type":"object"}},{"name":"both","inputSchema":{"type":"object"}}]}}`, m.ID)
		case m.Method != "tools/call":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
		case m.Params.Name == "doubled":
			fmt.Fprint(w, strings.TrimSuffix(text("one"), "}")+`,"result":{"content":[{"type":"text","text":"two"}]}}`)
		case m.Params.Name == "both":
			fmt.Fprint(w, strings.TrimSuffix(text("one"), "}")+`,"error":{"code":1,"message":"no"}}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\ndata: %s\n\n", text("one"), text("two"))
		}
	}))
	t.Cleanup(web.Close)
	return mcptool.Config{Name: "odd", URL: web.URL}
}

// An answer that gives its result twice is refused, and of two answers to one call the first counts.
func TestAnswersThatSayTwoThings(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]mcptool.Config{"child": program(t, "odd"), "http": twofaced(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, patient(), config)
			tools := []string{"doubled"}
			if name == "http" {
				tools = append(tools, "both")
			}
			for _, tool := range tools {
				out, err := call(t, s, tool, `{}`)
				if said := event.TextOf(out.Content); err == nil && !out.IsError || strings.Contains(said, "one") || strings.Contains(said, "two") {
					t.Errorf("%s: %q, %v", tool, said, err)
				}
			}
			for range 3 {
				if got := text(t, s, "again", `{}`); got != "one" {
					t.Errorf("of two answers %q counts", got)
				}
			}
		})
	}
}
