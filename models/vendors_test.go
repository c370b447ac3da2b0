package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// refusing is a vendor's server that refuses what the vendor refuses. It calls a tool in
// its first answer and answers with a text in its second.
type refusing struct {
	// thinking are the deltas of the first answer before its call, as the vendor sends them.
	thinking []string
	// takes are members of a message that this vendor takes beside the usual ones.
	takes []string
	// back checks what came back of the thinking; nil is nothing.
	back func(message map[string]json.RawMessage) string
	// noUsage, ids and forced are what the vendor says of stream_options, of ids that have
	// another form, and the word that it takes for a tool that must be used.
	noUsage bool
	ids     *regexp.Regexp
	forced  string
	call    string // of the vendor's own tool call; "" is the usual one

	mu    sync.Mutex
	asked int
	why   string
}

const toolCall = `"tool_calls":[{"index":0,"id":"abcDEF123","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]`

func (v *refusing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if why := v.check(r, body); why != "" {
		v.why = why
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, why)
		return
	}
	v.asked++
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta, finish string) {
		fmt.Fprintf(w, "data: {\"id\":\"i\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{%s},\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	if v.asked == 1 {
		for _, delta := range v.thinking {
			chunk(delta, "null")
		}
		call := v.call
		if call == "" {
			call = toolCall
		}
		chunk(call, "null")
		chunk("", `"tool_calls"`)
	} else {
		chunk(`"role":"assistant","content":"It is 11."`, "null")
		chunk("", `"stop"`)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func (v *refusing) check(r *http.Request, body []byte) string {
	var req struct {
		Messages []map[string]json.RawMessage `json:"messages"`
		Usage    json.RawMessage              `json:"stream_options"`
		Choice   json.RawMessage              `json:"tool_choice"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err.Error()
	}
	switch {
	case !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return "no such path: " + r.URL.Path
	case v.noUsage && req.Usage != nil:
		return `[{"type":"extra_forbidden","loc":["body","stream_options"]}]`
	case v.forced != "" && req.Choice != nil && string(req.Choice) != `"`+v.forced+`"`:
		return "tool_choice is " + string(req.Choice)
	}
	for i, m := range req.Messages {
		for k := range m {
			if !slices.Contains(append(v.takes, "role", "content", "tool_calls", "tool_call_id", "name"), k) {
				return fmt.Sprintf("'messages.%d' : property '%s' is unsupported", i, k)
			}
		}
		var calls []struct{ ID string }
		if raw := m["tool_calls"]; raw != nil {
			if err := json.Unmarshal(raw, &calls); err != nil {
				return err.Error()
			}
			if v.back != nil {
				if why := v.back(m); why != "" {
					return why
				}
			}
		}
		for _, c := range calls {
			if v.ids != nil && !v.ids.MatchString(c.ID) {
				return "Tool call id was " + c.ID + " but must be a-z, A-Z, 0-9, with a length of 9."
			}
		}
	}
	return ""
}

// wants checks that a member of the message has a value.
func wants(member, value string) func(map[string]json.RawMessage) string {
	return func(m map[string]json.RawMessage) string {
		var got, want any
		if json.Unmarshal(m[member], &got) != nil || json.Unmarshal([]byte(value), &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Sprintf("%s is %s, and not %s", member, m[member], value)
		}
		return ""
	}
}

const (
	pieces  = `[{"type":"reasoning.text","text":"Hm. So.","signature":"sig","format":"anthropic-claude-v1","index":0},{"type":"reasoning.encrypted","data":"enc","id":"e1","format":"x","index":1}]`
	inParts = `[{"type":"thinking","thinking":[{"type":"text","text":"Hm. So."}]}]`
)

// Each vendor's models think, call a tool and go on, by the name of the vendor alone.
func TestVendorsGoOnAfterATool(t *testing.T) {
	t.Parallel()
	content := []string{`"role":"assistant","reasoning_content":"Hm. "`, `"reasoning_content":"So."`}
	member := []string{`"role":"assistant","reasoning":"Hm. "`, `"reasoning":"So."`}
	for ref, v := range map[string]*refusing{
		"groq:openai/gpt-oss-120b":              {thinking: member, takes: []string{"reasoning"}, back: wants("reasoning", `"Hm. So."`)},
		"cerebras:gpt-oss-120b":                 {thinking: member, takes: []string{"reasoning"}, back: wants("reasoning", `"Hm. So."`)},
		"vllm:Qwen/Qwen3-8B":                    {thinking: member, takes: []string{"reasoning", "reasoning_content"}, back: wants("reasoning", `"Hm. So."`)},
		"deepseek:deepseek-v4":                  {thinking: content, takes: []string{"reasoning_content"}, back: wants("reasoning_content", `"Hm. So."`)},
		"xai:grok-4":                            {thinking: content, takes: []string{"reasoning_content"}, back: wants("reasoning_content", `"Hm. So."`)},
		"fireworks:accounts/fireworks/models/x": {thinking: content, takes: []string{"reasoning_content"}, back: wants("reasoning_content", `"Hm. So."`)},
		"llamacpp:qwen3":                        {thinking: content, takes: []string{"reasoning_content"}, back: wants("reasoning_content", `"Hm. So."`)},
		"lmstudio:openai/gpt-oss-20b":           {thinking: member, takes: []string{"reasoning"}, back: wants("reasoning", `"Hm. So."`)},
		"together:Qwen/Qwen3":                   {thinking: member},
		"mistral:magistral-medium": {
			thinking: []string{
				`"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm. "}]}]`,
				`"content":[{"type":"thinking","thinking":[{"type":"text","text":"So."}]}]`,
			},
			noUsage: true, ids: regexp.MustCompile(`^[a-zA-Z0-9]{9}$`), back: wants("content", inParts),
		},
		"openrouter:google/gemini-3-pro": {
			thinking: []string{
				`"role":"assistant","content":"","reasoning":"Hm. ","reasoning_details":[{"type":"reasoning.text","text":"Hm. ","format":"anthropic-claude-v1","index":0}]`,
				`"content":"","reasoning":"So.","reasoning_details":[{"type":"reasoning.text","text":"So.","format":"anthropic-claude-v1","index":0}]`,
				`"content":"","reasoning_details":[{"type":"reasoning.text","text":"","signature":"sig","format":"anthropic-claude-v1","index":0}]`,
				`"content":"","reasoning_details":[{"type":"reasoning.encrypted","data":"enc","id":"e1","format":"x","index":1}]`,
				`"content":"","reasoning_details":[]`,
			},
			takes: []string{"reasoning_details", "cache_control"}, back: wants("reasoning_details", pieces),
		},
		// Nothing is known of these but what they send.
		"openai:somebody's": {thinking: member, takes: []string{"reasoning"}, back: wants("reasoning", `"Hm. So."`)},
		"ollama:qwen3:8b":   {thinking: member, takes: []string{"reasoning"}, back: wants("reasoning", `"Hm. So."`)},
		"openai:gemini-3-pro": {
			call: strings.Replace(toolCall, `"type":"function",`, `"type":"function","extra_content":{"google":{"thought_signature":"tsig"}},`, 1),
			back: wants("tool_calls", `[{"id":"abcDEF123","type":"function","function":{"name":"add","arguments":"{\"a\":1}"},"extra_content":{"google":{"thought_signature":"tsig"}}}]`),
		},
		"openai:nothing-goes-back&thinking=none&usage=no": {thinking: content, noUsage: true},
	} {
		t.Run(ref, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(v)
			t.Cleanup(server.Close)
			name, settings, _ := strings.Cut(strings.ReplaceAll(ref, "'", ""), "&")
			m, err := openIn(env("SOME_KEY", "k"), name+"?base="+server.URL+"/v1&key=SOME_KEY&"+settings)
			if err != nil {
				t.Fatal(err)
			}
			if info := m.Info(); info.Name != name {
				t.Errorf("it is called %s", info.Name)
			}
			type in struct {
				A int `json:"a"`
			}
			add := braid.Func("add", "Adds ten.", func(_ context.Context, in in) (int, error) { return in.A + 10, nil })
			r, err := braid.New("a", m, braid.Tools(add)).Run(t.Context(), "Add.")
			if err != nil || r.Text() != "It is 11." {
				t.Fatalf("%q, %v (%s)", r.Text(), err, v.why)
			}
		})
	}
}

// A history of another provider goes on at each vendor: its ids and its thoughts are not
// the vendor's.
func TestHistoriesOfOthersGoOnAtVendors(t *testing.T) {
	t.Parallel()
	history := []event.Message{
		{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Add."}}},
		{Role: event.RoleAssistant, Content: []event.Block{
			&event.Thinking{Text: "of Claude", Signature: "c2ln"},
			&event.Thinking{Text: "of a server elsewhere", Signature: "chat.details.elsewhere.example [{\"type\":\"reasoning.text\"}]"},
			&event.ToolCall{ID: "toolu_01AAAAAAAAAAAAAAAAAAAA", Name: "add", Args: json.RawMessage(`{"a":1}`), Signature: "chat.google.elsewhere.example s"},
			&event.ToolCall{ID: "toolu_01AAAAAAAAAAAAAAAAAAAB", Name: "add", Args: json.RawMessage(`{"a":2}`)},
		}},
		{Role: event.RoleUser, Content: []event.Block{
			&event.ToolResult{Call: "toolu_01AAAAAAAAAAAAAAAAAAAA", Name: "add", Content: []event.Block{&event.Text{Text: "11"}}},
			&event.ToolResult{Call: "toolu_01AAAAAAAAAAAAAAAAAAAB", Name: "add", Content: []event.Block{&event.Text{Text: "12"}}},
		}},
	}
	for _, row := range DefaultVendors().rows {
		if row.Tools != nil && !*row.Tools {
			continue
		}
		v := &refusing{asked: 1, noUsage: row.Name == "mistral", back: func(m map[string]json.RawMessage) string {
			if raw := fmt.Sprint(m); strings.Contains(raw, "Claude") || strings.Contains(string(m["tool_calls"]), "extra_content") || m["reasoning_details"] != nil {
				return "thoughts of somebody else: " + raw
			}
			return ""
		}}
		if row.Name == "mistral" {
			v.ids = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
		}
		if row.Thinking != "" {
			v.takes = []string{string(row.Thinking)}
		}
		server := httptest.NewServer(v)
		t.Cleanup(server.Close)
		m, err := openIn(env("SOME_KEY", "k"), row.Name+":x?base="+server.URL+"/v1&key=SOME_KEY")
		if err != nil {
			t.Fatal(err)
		}
		req := &model.Request{Messages: history, Tools: []model.ToolSpec{{Name: "add", Schema: json.RawMessage(`{"type":"object"}`)}}}
		for _, err := range m.Stream(t.Context(), req) {
			if err != nil {
				t.Errorf("%s: %v (%s)", row.Name, err, v.why)
			}
		}
	}
}

// What a vendor cannot do is told before it is asked, and what it calls otherwise is
// called so.
func TestWhatVendorsTake(t *testing.T) {
	t.Parallel()
	v := &refusing{asked: 1, forced: "any", noUsage: true}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	tools := []model.ToolSpec{{Name: "add", Schema: json.RawMessage(`{"type":"object"}`)}}
	hi := []event.Message{{Role: event.RoleUser, Content: []event.Block{&event.Text{Text: "Hi."}}}}
	call := func(ref string, req *model.Request) error {
		m, err := openIn(env("K", "k"), ref+"?key=K&base="+server.URL)
		if err != nil {
			return err
		}
		for _, err := range m.Stream(t.Context(), req) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := call("mistral:x", &model.Request{Messages: hi, Tools: tools, ToolChoice: model.ToolChoice{Mode: model.ToolsAny}}); err != nil {
		t.Errorf("a tool that must be used: %v", err)
	}
	err := call("perplexity:sonar", &model.Request{Messages: hi, Tools: tools})
	if e := new(event.Error); !errors.As(err, &e) || e.Kind != event.ErrUnsupported || !strings.Contains(e.Message, "Perplexity") {
		t.Errorf("tools of Perplexity: %v", err)
	}
	if n := v.asked; n != 2 {
		t.Errorf("%d requests were taken", n-1)
	}
}

func TestVendorsByName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ref, says, hint string
		kind            event.ErrorKind
	}{
		{"groq:llama", "no key for Groq", "set GROQ_API_KEY", event.ErrModelAuth},
		{"groq:", "no key for Groq", "set GROQ_API_KEY", event.ErrModelAuth},
		{"perplexity", "no model of Perplexity is named", "perplexity:NAME", event.ErrModelNotFound},
		{"vllm:", "no model of vLLM is named", "vllm:NAME", event.ErrModelNotFound},
		{"groq:x?region=1", "no setting of that name", "groq:NAME", event.ErrInvalid},
		{"groq:x?thinking=somewhere", "thinking has no value", "groq:NAME", event.ErrInvalid},
		{"grok:x", "no model", "did you mean groq:x?", event.ErrModelNotFound},
		{"mistral:a b", "no model of such a name", "mistral:", event.ErrModelNotFound},
	} {
		_, err := openIn(env(), tc.ref)
		if e := new(event.Error); !errors.As(err, &e) || e.Kind != tc.kind || !strings.Contains(e.Message, tc.says) || !strings.Contains(e.Hint, tc.hint) {
			t.Errorf("%s: %v", tc.ref, err)
		}
	}
	m, err := openIn(env("GROQ_API_KEY", "k"), "groq:openai/gpt-oss-120b")
	if err != nil || m.Info().ContextWindow != 131072 || PriceOf(m) == nil {
		t.Errorf("%v, %+v", err, m)
	}
	// The vendor's key is for the vendor's address alone.
	v := &refusing{asked: 1}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if auth := r.Header.Get("Authorization"); auth != "" {
			t.Errorf("another address was told %q", auth)
		}
		v.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	m, err = openIn(env("GROQ_API_KEY", "secret"), "groq:x?base="+server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context(), m, hello); err != nil {
		t.Error(err)
	}
	// What users of a server name goes the same way.
	if name, err := Named(" openrouter:z-ai/glm-4.7 "); name != "openrouter:z-ai/glm-4.7" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	d := Detect(env("PERPLEXITY_API_KEY", "k"), "")
	if d.Source != FromNothing || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "perplexity:NAME") {
		t.Errorf("%+v", d)
	}
}

// The rows of the program are whole, and no row takes the name of a provider.
func TestTheVendorsOfTheProgram(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range ownProviders() {
		names = append(names, p.name)
	}
	if !slices.Equal(names, ownNames()) || !slices.Equal(slices.Sorted(maps.Keys(openers)), slices.Sorted(slices.Values(names))) {
		t.Errorf("providers are %v, and these can be opened: %v", names, slices.Sorted(maps.Keys(openers)))
	}
	rows := DefaultVendors().rows
	if len(rows) < 12 {
		t.Fatalf("%d vendors", len(rows))
	}
	date := regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)
	for _, r := range rows {
		local := strings.HasPrefix(r.Address, "http://127.0.0.1:")
		if !strings.HasPrefix(r.Page, "https://") || !date.MatchString(r.Read) || local != (r.Key == "") || !local && !strings.HasPrefix(r.Address, "https://") {
			t.Errorf("%+v", r)
		}
	}
}

func TestAFileOfVendors(t *testing.T) {
	t.Parallel()
	v := &refusing{asked: 1, noUsage: true}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	file := "vendors:\n- {name: acme, address: '" + server.URL + "/v1', key: ACME_API_KEY, usage: false}\n- {name: groq, address: 'https://groq.example/v1'}\n"
	vendors, err := ParseVendors([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	o := opener(t, Options{Env: env("ACME_API_KEY", "k"), Vendors: vendors})
	m, err := o.OpenNamed("acme:big")
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context(), m, hello); err != nil {
		t.Errorf("%v (%s)", err, v.why)
	}
	if _, err := o.Open("groq:x"); err != nil { // its row was replaced, and needs no key
		t.Error(err)
	}
	if _, err := Named("acme:big"); err == nil {
		t.Error("one file changed the vendors of everybody")
	}
	var seen []string
	for _, s := range o.Survey(nil) {
		if s.Provider == "acme" && (!s.Ready || s.Key != "ACME_API_KEY" || !s.Vendor) {
			t.Errorf("%+v", s)
		}
		seen = append(seen, s.Provider)
	}
	if !slices.Contains(seen, "acme") || seen[len(seen)-1] != "demo" {
		t.Errorf("%v", seen)
	}
}

// The file that the guide shows is one.
func TestTheGuidesVendors(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/guide/models.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(guide), "```yaml\nvendors:")
	shown, _, _ = strings.Cut(shown, "```")
	vendors, err := ParseVendors([]byte("vendors:" + shown))
	if err != nil || !found || len(vendors.rows) != len(DefaultVendors().rows)+1 {
		t.Errorf("%v: %v", found, err)
	}
}

func TestAWrongFileOfVendorsIsTold(t *testing.T) {
	t.Parallel()
	for file, says := range map[string]string{
		"":           "it is empty",
		"vendors: [": "line",
		"vendors:\n- {name: x, place: 'https://h/v1'}":                                         "place",
		"vendors:\n- {name: x}":                                                                "vendor 1: its address",
		"vendors:\n- {name: X, address: 'https://h/v1'}":                                       "small letters",
		"vendors:\n- {name: openai, address: 'https://h/v1'}":                                  "API of its own",
		"vendors:\n- {name: x, address: 'ftp://h/v1'}":                                         "its address",
		"vendors:\n- {name: x, address: 'https://u:p@h/v1'}":                                   "its address",
		"vendors:\n- {name: x, address: 'https://h/v1?a=b'}":                                   "its address",
		"vendors:\n- {name: x, address: 'https://h/v1', key: sk-live-1234}":                    "key names the variable",
		"vendors:\n- {name: x, address: 'https://h/v1', thinking: aloud}":                      "thinking is one of",
		"vendors:\n- {name: x, address: 'https://h/v1', forced: must}":                         "forced is",
		"vendors:\n- {name: x, address: 'https://h/v1', ids: 1}":                               "ids is",
		"vendors:\n- {name: x, address: 'https://h/v1', title: \"a\\nb\"}":                     "its title",
		"vendors:\n- {name: x, address: 'https://h/v1'}\n- {name: x, address: 'https://h/v2'}": "stands twice",
		"vendors: []\n---\nvendors: []\n":                                                      "more than one",
	} {
		_, err := ParseVendors([]byte(file))
		if e := new(event.Error); !errors.As(err, &e) || e.Kind != event.ErrInvalid || !strings.Contains(e.Message, says) || e.Hint == "" || strings.Contains(e.Message, "sk-live") {
			t.Errorf("%q: %v", file, err)
		}
	}
	if _, err := ParseVendors(make([]byte, MaxVendors+1)); !errors.Is(err, event.ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
}
