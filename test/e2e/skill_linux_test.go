package e2e

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAScriptOfASkill runs as a command of the shell, once its skill is copied, and in no other way.
func TestAScriptOfASkill(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	script := filepath.Join(t.TempDir(), "script.yaml")
	write(t, script, "rules:\n  - name: copy\n    when: {round: 1, tool: skill}\n    reply:\n      - call: skill\n        args: {name: report, copy: true}\n"+
		"  - name: shell\n    when: {round: 2, tool: shell}\n    reply:\n      - call: shell\n        args: {command: \"sh skills/report/scripts/run.sh\"}\n"+
		"  - name: end\n    when: {round: any}\n    reply: \"It said ${result}\"\n")
	s := startServer(t, filepath.Join(t.TempDir(), "data"), "--model", "demo:"+script, "--workspaces", "--shell")
	s.json(201, "POST", "/v1/admin/tenants", `{"id":"acme"}`)
	s.json(200, "PATCH", "/v1/admin/tenants/acme", `{"policy":{"shell":true}}`)
	outside := filepath.Join(t.TempDir(), "outside")
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range map[string]string{
		"report/SKILL.md":       "---\nname: report\ndescription: Writes reports.\n---\nRun scripts/run.sh.\n",
		"report/scripts/run.sh": "#!/bin/sh\necho canary-ran > " + outside + "\necho canary-ran > made\ncat made\n",
	} {
		head := &zip.FileHeader{Name: name}
		head.SetMode(0o755)
		w, err := z.CreateHeader(head)
		if _, failed := io.WriteString(w, text); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if res := s.ask("POST", "/v1/admin/tenants/acme/skills", out.String(), "Content-Type", "application/zip"); res.StatusCode != 201 {
		t.Fatal(res.Status)
	}
	s.json(201, "POST", "/v1/admin/tenants/acme/agents", `{"id":"builder","tools":["skill","shell"],"permissions":{"allow":["shell"]}}`)
	s.json(201, "POST", "/v1/admin/tenants/acme/agents", `{"id":"reader","tools":["skill","read"]}`)
	tenant := *s
	tenant.token = s.json(201, "POST", "/v1/admin/tenants/acme/keys", `{"name":"k","scopes":["read","write"]}`)["token"].(string)
	run := func(agent string) (made bool, result string) {
		t.Helper()
		conv := tenant.json(201, "POST", "/v1/conversations", `{"agent":"`+agent+`"}`)["id"].(string)
		result, _ = tenant.json(200, "POST", "/v1/conversations/"+conv+"/runs", `{"user_input":"go"}`, "Accept", "application/json")["result"].(string)
		if res := tenant.ask("GET", "/v1/conversations/"+conv+"/files/content?path=skills/report/scripts/run.sh", ""); res.StatusCode != 200 {
			t.Errorf("%s: the skill is not copied: %s", agent, res.Status)
		}
		return tenant.ask("GET", "/v1/conversations/"+conv+"/files/content?path=made", "").StatusCode == 200, result
	}
	if made, result := run("reader"); made || strings.Contains(result, "canary-ran") {
		t.Errorf("without a shell the script has run: %s", result)
	}
	if made, result := run("builder"); !made || !strings.Contains(result, "canary-ran") {
		t.Errorf("with a shell it has not: %s", result)
	}
	if _, err := os.Stat(outside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the script has left the sandbox: %v", err)
	}
}
