package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostileSchemas are forms that recurse without end, that double, or that cost more than they look.
func hostileSchemas() map[string]string {
	double := func(levels int, keyword string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/a` + fmt.Sprint(levels) + `","$defs":{"a0":{"type":"object"}`)
		for i := 1; i <= levels; i++ {
			fmt.Fprintf(&b, `,"a%d":{"%s":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, keyword, i-1, i-1)
		}
		return b.String() + "}}"
	}
	nested := func(n int, open, end, inner string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	return map[string]string{
		"ref to itself":        `{"$ref":"#"}`,
		"allOf":                `{"allOf":[{"$ref":"#"}]}`,
		"anyOf":                `{"anyOf":[{"$ref":"#"},{"type":"object"}]}`,
		"oneOf":                `{"oneOf":[{"$ref":"#"},{"type":"null"}]}`,
		"not":                  `{"not":{"$ref":"#"}}`,
		"if":                   `{"if":{"$ref":"#"},"then":true}`,
		"ring":                 `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		"dynamicRef":           `{"$dynamicAnchor":"x","$dynamicRef":"#x"}`,
		"id":                   `{"$id":"https://a.example/s","$ref":"https://a.example/s"}`,
		"urn ring":             `{"$id":"urn:a","$ref":"urn:b","$defs":{"b":{"$id":"urn:b","$ref":"urn:a"}}}`,
		"anchor":               `{"$anchor":"me","$ref":"#me"}`,
		"dependentSchemas":     `{"type":"object","dependentSchemas":{"x":{"$ref":"#"}},"allOf":[{"$ref":"#"}]}`,
		"dependencies":         `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"answer":{"$ref":"#"}},"anyOf":[{"$ref":"#"}]}`,
		"doubling allOf":       double(40, "allOf"),
		"doubling anyOf":       double(60, "anyOf"),
		"doubling oneOf":       double(60, "oneOf"),
		"deep properties":      nested(4_000, `{"properties":{"a":`, `}}`, `{}`),
		"deep allOf":           nested(4_000, `{"allOf":[`, `]}`, `{}`),
		"deep items":           nested(2_000, `{"items":`, `}`, `{}`),
		"many properties":      `{"type":"object","properties":{` + strings.TrimSuffix(strings.Repeat(`"p%":{"type":"string"},`, 20_000), ",") + `}}`,
		"a long enum":          `{"enum":[` + strings.TrimSuffix(strings.Repeat(`"x",`, 100_000), ",") + `]}`,
		"a repeating pattern":  `{"type":"string","pattern":"((((a{1,100}){1,100}){1,100}){1,100})"}`,
		"a huge number":        `{"multipleOf":1e-300,"maximum":1e400}`,
		"a remote reference":   `{"$ref":"http://127.0.0.1:1/schema.json"}`,
		"a file":               `{"$ref":"file:///etc/passwd"}`,
		"no schema":            `"text"`,
		"a list":               `[]`,
		"false":                `false`,
		"unevaluated doubling": `{"unevaluatedProperties":{"$ref":"#"},"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
	}
}

// No schema ends the server, keeps a core busy or holds up another tenant's run: it is refused, or it fails its
// own run within the run's own time.
func TestHostileSchemasHarmNobody(t *testing.T) {
	t.Parallel()
	s := attackedServer(t, "--agentcore")
	for name, schema := range hostileSchemas() {
		if !json.Valid([]byte(schema)) {
			t.Fatalf("%s is no JSON", name)
		}
		conv := s.json(201, "POST", "/v1/conversations", "", bearer(s.attacker)...)["id"].(string)
		got := s.attack("POST", "/v1/conversations/"+conv+"/runs",
			`{"user_input":"What is 6 times 7?","limits":{"timeout_seconds":5},"output_schema":`+schema+`}`, bearer(s.attacker)...)
		if !slices.Contains([]int{200, 400, 413, 422, 502}, got.status) {
			t.Errorf("%s: %d %.300s", name, got.status, got.body)
		}
		s.attack("POST", "/invocations", `{"prompt":"What is 6 times 7?","output_schema":`+schema+`}`, append(bearer(s.token),
			"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id", strings.Repeat("s", 40))...)
		s.attack("POST", "/v1/admin/tenants/attacker/agents", `{"id":"a-`+fmt.Sprintf("%x", len(name))+`","output_schema":`+schema+`}`, bearer(s.attacker)...)
	}
	s.unharmed()
}

// Bodies, headers, addresses and lists of any size are taken or refused in the API's own form.
func TestHostileSizesHarmNobody(t *testing.T) {
	t.Parallel()
	s := attackedServer(t, "--agentcore")
	bodies := map[string]func() string{
		"deep objects":   func() string { return strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) },
		"deep lists":     func() string { return strings.Repeat("[", 1_000_000) },
		"a long name":    func() string { return `{"` + strings.Repeat("k", 1<<20) + `":1}` },
		"many members":   func() string { return `{` + strings.TrimSuffix(strings.Repeat(`"a":1,`, 200_000), ",") + `}` },
		"a long number":  func() string { return `{"user_input":` + strings.Repeat("9", 1<<20) + `}` },
		"too long":       func() string { return `{"user_input":"` + strings.Repeat("x", 9<<20) + `"}` },
		"many labels":    func() string { return labels(10_000) },
		"many escapes":   func() string { return `{"user_input":"` + strings.Repeat(`\u0000`, 200_000) + `"}` },
		"half of a pair": func() string { return `{"user_input":"` + strings.Repeat(`\ud800`, 1000) + `"}` },
	}
	for i := range s.routes {
		r := &s.routes[i]
		if r.body == "" || !full() && !strings.HasSuffix(r.path, "/runs") && i%7 != 0 {
			continue
		}
		for name, body := range bodies {
			got := s.attack(r.method, r.at(s.theirs), body(), bearer(s.token)...)
			if got.status == 200 || got.status == 201 {
				t.Errorf("%s, %s: %d %.200s", r, name, got.status, got.body)
			}
		}
	}
	for name, headers := range map[string][]string{
		"a long header":  {"X-Long", strings.Repeat("x", 2<<20)},
		"a long key":     {"Idempotency-Key", strings.Repeat("k", 100_000)},
		"a long cursor":  {"Last-Event-ID", strings.Repeat("1", 100_000)},
		"a long session": {"X-Amzn-Bedrock-AgentCore-Runtime-Session-Id", strings.Repeat("s", 100_000)},
		"a long trace":   {"Traceparent", strings.Repeat("0", 100_000)},
	} {
		for _, path := range []string{"/v1/conversations", "/v1/models", "/invocations", "/ping"} {
			if got := s.attack("GET", path, "", append(bearer(s.attacker), headers...)...); got.status >= 500 {
				t.Errorf("%s of %s: %d", name, path, got.status)
			}
		}
	}
	s.attack("GET", "/v1/conversations?"+strings.Repeat("a=b&", 50_000), "", bearer(s.attacker)...)
	s.attack("GET", "/v1/conversations/"+strings.Repeat("a", 500_000), "", bearer(s.attacker)...)
	s.atOnce()
	s.unharmed()
}

// atOnce sends large bodies at the same time, and leaves most of them in the middle.
func (s *target) atOnce() {
	s.t.Helper()
	conv := s.json(201, "POST", "/v1/conversations", "", bearer(s.attacker)...)["id"].(string)
	many := 8
	if full() {
		many = 64
	}
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			body := io.Reader(strings.NewReader(`{"user_input":"` + strings.Repeat("x", 7<<20) + `"}`))
			if i%2 == 0 {
				body = io.LimitReader(body, 3<<20) // and the rest never comes
			}
			req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/v1/conversations/"+conv+"/runs", body)
			if err != nil {
				s.t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+s.attacker)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Prefer", "respond-async")
			client := &http.Client{Timeout: 60 * time.Second, Transport: s.transport()}
			if res, err := client.Do(req); err == nil {
				_ = res.Body.Close()
			}
		})
	}
	all.Wait()
}

// labels is a run's body with so many of them.
func labels(n int) string {
	metadata := map[string]string{}
	for i := range n {
		metadata[fmt.Sprint("label-", i)] = "x"
	}
	raw, _ := json.Marshal(map[string]any{"user_input": "x", "metadata": metadata}) // it can be written
	return string(raw)
}

// Names that mean something elsewhere (a path, an address, a statement, a letter that is not seen) mean nothing here.
func TestHostileNamesHarmNobody(t *testing.T) {
	t.Parallel()
	s := attackedServer(t, "--agentcore")
	names := []string{
		" demo:/etc/passwd", "\tdemo:/etc/passwd", "\u00a0demo:/etc/passwd", "\u2003demo:/etc/passwd", "\ufeffdemo:/etc/passwd", "demo:/etc/passwd",
		"demo:/etc/passwd.YAML", "demo:x.Yml", "demo:../../etc/passwd", "demo:./x.yaml", "demo:file:///etc/passwd", "demo:?speed=1", "DEMO:/etc/passwd",
		"demo:\u0000", "ollama:x@http://127.0.0.1:1", "openai:gpt-4o?base_url=http://127.0.0.1:1", "cassette:/etc/passwd", "replay:/etc/passwd", "demo:/proc/self/environ",
		"../victim", "victim", "a-model", "VICTIM", "..", "%2e%2e", "' OR 1=1 --", "${HOME}", "{{.}}", "\u202evictim", "a\r\nX-Injected: 1", strings.Repeat("a", 300),
	}
	for _, name := range names {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		conv := s.json(201, "POST", "/v1/conversations", "", bearer(s.attacker)...)["id"].(string)
		for _, token := range []string{s.attacker, s.token} {
			if token == s.token {
				conv = s.json(201, "POST", "/v1/conversations", "")["id"].(string)
			}
			got := s.attack("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"x","limits":{"timeout_seconds":1},"model":`+string(quoted)+`}`, bearer(token)...)
			if !slices.Contains([]int{400, 404, 422, 502, 504}, got.status) || strings.Contains(got.body, "script is wrong") || strings.Contains(got.body, "that path") {
				t.Errorf("the model %q: %d %.300s", name, got.status, got.body)
			}
		}
		if !strings.HasPrefix(name, "ollama:") { // which is a model, and is asked again and again where nothing listens
			s.attack("POST", "/invocations", `{"prompt":"x","model":`+string(quoted)+`}`, append(bearer(s.token), "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id", strings.Repeat("s", 40))...)
		}
		for _, body := range []string{
			`{"title":` + string(quoted) + `,"agent":` + string(quoted) + `}`, `{"id":` + string(quoted) + `}`,
		} {
			s.attack("POST", "/v1/conversations", body, bearer(s.attacker)...)
			s.attack("POST", "/v1/admin/tenants/attacker/agents", body, bearer(s.attacker)...)
		}
		s.attack("POST", "/v1/admin/tenants", `{"id":`+string(quoted)+`}`, bearer(s.token)...)
		s.attack("POST", "/v1/admin/tenants/attacker/models", `{"id":"m","provider":`+string(quoted)+`,"name":`+string(quoted)+`}`, bearer(s.attacker)...)
		s.attack("POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"x","executor":`+string(quoted)+`,"preferred_skills":[`+string(quoted)+`]}`, append(bearer(s.token), "Prefer", "respond-async")...)
	}
	s.unharmed()
}
