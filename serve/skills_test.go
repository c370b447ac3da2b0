package serve_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret/keyset"
	"github.com/braidrun/braid/serve"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/agents"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/skill"
	"github.com/braidrun/braid/workspace"
)

// reader is a model that reads what its input asks for with the tool skill, and repeats it.
type reader struct {
	mu    sync.Mutex
	calls int
	told  string
}

func (*reader) Info() model.Info { return model.Info{Name: "test:reader", Simulated: true} }

func (m *reader) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Chunk, error] {
	m.mu.Lock()
	m.calls++
	m.told = r.Instructions
	m.mu.Unlock()
	return func(yield func(model.Chunk, error) bool) {
		last := r.Messages[len(r.Messages)-1].Content
		if input, ok := last[0].(*event.Text); ok && strings.HasPrefix(input.Text, "{") && len(r.Tools) > 0 {
			_ = yield(model.Chunk{Kind: model.ChunkCall, ID: "c1", Text: skill.ToolName}, nil) &&
				yield(model.Chunk{Kind: model.ChunkCallInput, Text: input.Text}, nil) &&
				yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopToolUse}, nil)
			return
		}
		text := "Nothing was read."
		for _, b := range last {
			if b, ok := b.(*event.ToolResult); ok {
				text = "read: " + event.TextOf(b.Content)
			}
		}
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: text}, nil) && yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
	}
}

// asked returns how often the model was called, and its last instructions.
func (m *reader) asked() (calls int, told string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.told
}

// folderOf makes the archive of a skill.
func folderOf(t *testing.T, name, description string, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	all := map[string]string{"SKILL.md": "---\nname: " + name + "\ndescription: " + description + "\n---\n\n" + files["SKILL.md"] + "\n"}
	for path, text := range files {
		if path != "SKILL.md" {
			all[path] = text
		}
	}
	for path, text := range all {
		w, err := z.Create(name + "/" + path)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// upload sends a body that is not JSON.
func (s *site) upload(token, path, kind string, body []byte, headers ...string) (int, string) {
	s.t.Helper()
	return s.send(token, http.MethodPost, path, kind, body, headers...)
}

// send sends a request with a body of this type.
func (s *site) send(token, method, path, kind string, body []byte, headers ...string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	raw, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.StatusCode, string(raw)
}

// A tenant's skills work in its runs and in no others, on both databases. What is refused leaves nothing.
func TestSkillsOfTenants(t *testing.T) {
	t.Parallel()
	eachDatabase(t, "tenants_skills", skillsOfTenants)
}

func skillsOfTenants(t *testing.T, store serve.Store, dump func() string) { //nolint:maintidx // one story
	log, m := &buffer{}, &reader{}
	servers := t.TempDir()
	for _, name := range []string{"letter", "report"} {
		if err := os.MkdirAll(filepath.Join(servers, name), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: " + name + "\ndescription: The server's " + name + ".\n---\nOf the server.\n"
		if err := os.WriteFile(filepath.Join(servers, name, "SKILL.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, problems := skill.Load(servers)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	f, err := agents.New(t.Context(), agents.Options{Model: m, Skills: set, Workspaces: true})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyset.Open(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, serve.Options{
		Agents: f, Store: store, Tenants: &directory.Options{Keys: keys}, Service: service.Options{Workspaces: &workspace.Quota{}}, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	user := map[string]string{}
	for _, tenant := range []string{"acme", "umbrella"} {
		s.must("", "POST", "/v1/admin/tenants", `{"id":"`+tenant+`"}`, "id")
		user[tenant] = s.must("", "POST", "/v1/admin/tenants/"+tenant+"/keys", `{"scopes":["read","write","admin:read","admin:write"]}`, "token")
	}
	const admin = "/v1/admin/tenants/acme/skills"
	ran := filepath.Join(t.TempDir(), "ran")
	status, answer := s.upload(user["acme"], admin, "application/zip", folderOf(t, "report", "Acme's reports.", map[string]string{
		"SKILL.md": "Read STYLE.md.", "style.md": "canary-skill-of-acme", "scripts/run.py": "print('never')", "scripts/run.sh": "#!/bin/sh\ntouch " + ran + "\n",
	}))
	if status != 201 || !strings.Contains(answer, `"id":"report"`) || !strings.Contains(answer, `"line":6`) {
		t.Fatalf("%d %s", status, answer)
	}
	conv := s.must(user["acme"], "POST", "/v1/conversations", "{}", "id")
	runs := "/v1/conversations/" + conv + "/runs"
	run := func(token, runs, input string, more ...string) (int, string) {
		t.Helper()
		body, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		return s.ask(token, "POST", runs, `{"user_input":`+string(body)+strings.Join(more, "")+`}`)
	}
	for input, want := range map[string]string{
		`{"name":"report"}`: "Read STYLE.md.", `{"name":"report","file":"STYLE.md"}`: "canary-skill-of-acme",
		`{"name":"report","file":"scripts/run.py"}`: "print('never')", `{"name":"letter"}`: "Of the server.",
		`{"name":"report","file":"../../letter/SKILL.md"}`: "leads out of the skill",
	} {
		if _, answer := run(user["acme"], runs, input); !strings.Contains(answer, want) {
			t.Errorf("%s: %s", input, answer)
		}
	}
	if _, told := m.asked(); !strings.Contains(told, "- letter: The server's letter.\n- report: Acme's reports.") {
		t.Errorf("the model is told %s", told)
	}
	run(user["acme"], runs, "hello", `,"preferred_skills":["report"]`)
	if _, told := m.asked(); !strings.Contains(told, "use one of these first, in this order: report.") {
		t.Errorf("the model is told %s", told)
	}
	// The files of a skill go to the workspace as they are, for an agent with tools that work there. Nothing executes them.
	if _, answer := run(user["acme"], runs, `{"name":"report","copy":true}`); !strings.Contains(answer, "Copied 4 files into the folder skills/report") {
		t.Errorf("a copy: %s", answer)
	}
	if status, text := s.ask(user["acme"], "GET", "/v1/conversations/"+conv+"/files/content?path=skills/report/scripts/run.sh", ""); status != 200 || text != "#!/bin/sh\ntouch "+ran+"\n" {
		t.Errorf("the copied file: %d %s", status, text)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a script of a skill was executed")
	}
	// Another tenant has the server's skill of that name.
	theirs := "/v1/conversations/" + s.must(user["umbrella"], "POST", "/v1/conversations", "{}", "id") + "/runs"
	if _, answer := run(user["umbrella"], theirs, `{"name":"report","file":"style.md"}`); strings.Contains(answer, "canary") || !strings.Contains(answer, "the skill has no file") {
		t.Errorf("another tenant reads %s", answer)
	}
	for _, path := range []string{"/v1/admin/tenants/acme/skills", admin + "/report", admin + "/report/archive", "/v1/admin/tenants/umbrella/skills/report/archive"} {
		if status, answer := s.ask(user["umbrella"], "GET", path, ""); status != 404 || strings.Contains(answer, "canary") {
			t.Errorf("another tenant asks %s: %d %s", path, status, answer)
		}
	}
	if status, answer := s.upload(user["umbrella"], admin, "application/zip", folderOf(t, "evil", "x", nil)); status != 404 {
		t.Errorf("another tenant stores a skill: %d %s", status, answer)
	}

	// A run that prefers an unknown skill is refused before anything starts.
	calls, _ := m.asked()
	_, listed := s.ask(user["acme"], "GET", runs, "")
	for _, name := range []string{"reprot", "../report", "canary", ""} {
		quoted, _ := json.Marshal(name) // a text can always be written
		if status, answer := run(user["acme"], runs, "hello", `,"preferred_skills":["letter",`+string(quoted)+`]`); name != "" && (status != 422 || !strings.Contains(answer, "SKILL_UNKNOWN")) || name == "" && status != 400 {
			t.Errorf("an unknown skill: %d %s", status, answer)
		}
	}
	if status, answer := s.ask(user["acme"], "POST", "/v1/admin/tenants/acme/agents", `{"id":"writer","skills":["reprot"]}`); status != 422 || !strings.Contains(answer, "REFERENCE_UNKNOWN") || !strings.Contains(answer, "report") {
		t.Errorf("an agent with an unknown skill: %d %s", status, answer)
	}
	if now, _ := m.asked(); now != calls {
		t.Errorf("%d calls of the model", now-calls)
	}
	if _, now := s.ask(user["acme"], "GET", runs, ""); now != listed {
		t.Errorf("refused runs are there: %s", now)
	}

	// An agent names a skill, which then stays. One without the tool has none.
	s.must(user["acme"], "POST", "/v1/admin/tenants/acme/agents", `{"id":"writer","skills":["report"],"tools":["skill"]}`, "id")
	s.must(user["acme"], "POST", "/v1/admin/tenants/acme/agents", `{"id":"plain","tools":[]}`, "id")
	writes := "/v1/conversations/" + s.must(user["acme"], "POST", "/v1/conversations", `{"agent":"writer"}`, "id") + "/runs"
	if _, answer := run(user["acme"], writes, `{"name":"report"}`); !strings.Contains(answer, "Read STYLE.md.") {
		t.Errorf("the writer reads %s", answer)
	}
	if _, told := m.asked(); !strings.Contains(told, "in this order: report.") {
		t.Errorf("the writer is told %s", told)
	}
	if _, answer := run(user["acme"], writes, `{"name":"report","copy":true}`); strings.Contains(answer, "Copied") {
		t.Errorf("an agent without a workspace copies: %s", answer)
	}
	plain := "/v1/conversations/" + s.must(user["acme"], "POST", "/v1/conversations", `{"agent":"plain"}`, "id") + "/runs"
	if status, answer := run(user["acme"], plain, "hello", `,"preferred_skills":["report"]`); status != 422 || !strings.Contains(answer, "this agent has no skills") {
		t.Errorf("a preferred skill without the tool: %d %s", status, answer)
	}
	if status, answer := s.ask(user["acme"], "DELETE", admin+"/report", ""); status != 409 || !strings.Contains(answer, "SKILL_IN_USE") || !strings.Contains(answer, "writer") {
		t.Errorf("a skill in use: %d %s", status, answer)
	}

	// The same folder is no new version, another one is; and a form is as good.
	form, kind := formOf(t, map[string]string{"report/SKILL.md": "---\nname: report\ndescription: New reports.\n---\nBegin anew.\n"})
	if status, answer = s.upload(user["acme"], admin, kind, form); status != 200 || !strings.Contains(answer, `"version":2`) {
		t.Errorf("a new version: %d %s", status, answer)
	}
	if status, again := s.upload(user["acme"], admin, kind, form); status != 200 || again != answer {
		t.Errorf("the same files: %d %s", status, again)
	}
	if _, answer := run(user["acme"], runs, `{"name":"report"}`); !strings.Contains(answer, "Begin anew.") {
		t.Errorf("after the change: %s", answer)
	}
	for _, c := range []struct {
		headers []string
		code    string
	}{{[]string{"If-Match", `"1"`}, "REVISION_CONFLICT"}, {[]string{"If-None-Match", "*"}, "SKILL_EXISTS"}} {
		if status, answer := s.upload(user["acme"], admin, "application/zip", folderOf(t, "report", "x", nil), c.headers...); status != 409 || !strings.Contains(answer, c.code) {
			t.Errorf("%v: %d %s", c.headers, status, answer)
		}
	}
	status, archive := s.ask(user["acme"], "GET", admin+"/report/versions/1/archive", "")
	if status != 200 {
		t.Fatal(status, archive)
	}
	if status, answer := s.upload(user["acme"], admin, "application/zip", []byte(archive)); status != 200 || !strings.Contains(answer, `"version":3`) || !strings.Contains(answer, "Acme's reports.") {
		t.Errorf("the first version once more: %d %s", status, answer)
	}

	// An inactive skill is not there, and the server's takes its place.
	s.must(user["acme"], "PATCH", admin+"/report", `{"status":"inactive"}`, "id")
	if _, answer := run(user["acme"], runs, `{"name":"report"}`); !strings.Contains(answer, "Of the server.") {
		t.Errorf("an inactive skill: %s", answer)
	}
	s.upload(user["acme"], admin, "application/zip", folderOf(t, "alone", "x", nil))
	s.must(user["acme"], "PATCH", admin+"/alone", `{"status":"inactive"}`, "id")
	if status, answer := run(user["acme"], runs, "hello", `,"preferred_skills":["alone"]`); status != 422 || !strings.Contains(answer, `the skill \"alone\" is not active`) {
		t.Errorf("an inactive skill: %d %s", status, answer)
	}

	// What is refused leaves no row and no bytes.
	used := func() string {
		var got struct {
			Use struct {
				Bytes int64 `json:"stored_bytes"`
			}
		}
		_, answer := s.ask("", "GET", "/v1/admin/tenants/acme", "")
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Fatal(err)
		}
		_, list := s.ask(user["acme"], "GET", admin, "")
		return fmt.Sprint(got.Use.Bytes, list)
	}
	before := used()
	bomb := folderOf(t, "bomb", "x", map[string]string{"zeros": strings.Repeat("\x00", 40<<20)})
	many := map[string]string{}
	for i := range 600 {
		many[fmt.Sprint("f", i)] = "canary-refused"
	}
	lying := folderOf(t, "lying", "x", map[string]string{"a.txt": "canary-refused"})
	lying[bytes.LastIndex(lying, []byte("PK\x01\x02"))+16] ^= 1
	for name, c := range map[string]struct {
		kind   string
		body   []byte
		status int
		words  string
	}{
		"no zip":        {"application/zip", []byte("canary-refused"), 422, "no zip archive"},
		"up":            {"application/zip", folderOf(t, "up", "x", map[string]string{"../../evil": "canary-refused"}), 422, "SKILL_INVALID"},
		"a name up":     {"application/zip", bytes.ReplaceAll(folderOf(t, "report", "x", nil), []byte("report"), []byte("../rep")), 422, "SKILL_INVALID"},
		"bomb":          {"application/zip", bomb, 413, "32 MiB"},
		"many":          {"application/zip", folderOf(t, "many", "x", many), 413, "500 files"},
		"damaged":       {"application/zip", lying, 422, "damaged"},
		"20 MB":         {"application/zip", bytes.Repeat([]byte("canary-refused"), 2<<20), 413, "TOO_LARGE"},
		"no type":       {"text/plain", []byte("canary-refused"), 415, "application/zip"},
		"JSON":          {"application/json", []byte(`{}`), 415, "application/zip"},
		"no boundary":   {"multipart/form-data", form, 422, "form cannot be read"},
		"bad condition": {"application/zip", folderOf(t, "report", "x", nil), 400, "If-None-Match"},
	} {
		headers := []string(nil)
		if name == "bad condition" {
			headers = []string{"If-None-Match", `"1"`}
		}
		if status, answer := s.upload(user["acme"], admin, c.kind, c.body, headers...); status != c.status || !strings.Contains(answer, c.words) || !strings.Contains(answer, `"hint"`) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if after := used(); after != before {
		t.Errorf("refused uploads have left something:\n%s\n%s", before, after)
	}
	// The quota ends an upload in its middle.
	s.must("", "PATCH", "/v1/admin/tenants/acme", `{"quota":{"stored_bytes":200000}}`, "id")
	if status, answer := s.upload(user["acme"], admin, "application/zip", folderOf(t, "large", "x", map[string]string{"a": strings.Repeat("canary-refused", 100_000)})); status != 429 || !strings.Contains(answer, "QUOTA_STORAGE") {
		t.Errorf("a full quota: %d %s", status, answer)
	}
	s.must("", "PATCH", "/v1/admin/tenants/acme", `{"quota":{"stored_bytes":null}}`, "id")
	if after := used(); after != before {
		t.Errorf("an upload beyond the quota has left something:\n%s\n%s", before, after)
	}
	if text := dump() + log.String(); strings.Contains(text, "canary-refused") || !strings.Contains(text, "canary-skill-of-acme") {
		t.Error("refused bytes are stored, or the stored ones are not found")
	}
	// A removed skill is gone with its bytes.
	for _, name := range []string{"report", "alone"} {
		if status, answer := s.ask(user["acme"], "DELETE", admin+"/"+name+"?force=true", ""); status != 204 {
			t.Errorf("%s is removed: %d %s", name, status, answer)
		}
	}
	if _, answer := run(user["acme"], writes, `{"name":"report"}`); !strings.Contains(answer, "Of the server.") {
		t.Errorf("after the removal: %s", answer)
	}
	if status, answer := s.ask(user["acme"], "GET", admin+"/report/archive", ""); status != 404 || !strings.Contains(answer, "SKILL_NOT_FOUND") {
		t.Errorf("the archive of a removed skill: %d %s", status, answer)
	}
}

// formOf makes a form of files.
func formOf(t *testing.T, files map[string]string) (body []byte, kind string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for path, text := range files {
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + path + `"`}})
		if err == nil {
			_, err = io.WriteString(part, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), w.FormDataContentType()
}
