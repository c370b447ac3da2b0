package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All of braid admin skill, from a folder to its archive.
func TestAdminSkills(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.do(0, "", "tenant", "create", "acme")
	dir := filepath.Join(t.TempDir(), "report")
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("SKILL.md", "---\nname: report\ndescription: Writes reports.\n---\n\nSee [more](missing.md).\n")
	write("scripts/run.sh", "#!/bin/sh\n")
	write(".git/config", "canary")
	tenant := []string{"--tenant", "acme"}
	skill := func(code int, args ...string) (string, string) {
		t.Helper()
		return o.do(code, "", append(append([]string{"skill"}, args...), tenant...)...)
	}
	out, errs := skill(0, "upload", dir)
	if !strings.Contains(out, "id: report\n") || !strings.Contains(out, "scripts/run.sh") || strings.Contains(out, ".git") ||
		!strings.Contains(errs, `note: SKILL.md, line 6: the skill has no file "missing.md"`) {
		t.Errorf("uploaded as\n%s%s", out, errs)
	}
	if again, _ := skill(0, "upload", dir); again != out {
		t.Errorf("uploaded again as\n%s", again)
	}
	write("references/style.md", "Be brief.")
	out, _ = skill(0, "upload", dir, "--json")
	var shown struct {
		Version  int
		Revision int
		SHA256   string `json:"sha256"`
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || shown.Version != 2 {
		t.Errorf("%v: %s", err, out)
	}
	if _, errs = skill(13, "upload", dir, "--revision", "1"); !strings.Contains(errs, "changed since") {
		t.Errorf("an old revision: %s", errs)
	}
	if out, _ = skill(0, "list"); out != "report\tactive\t2\t3\t"+shown.SHA256[:12]+"\tWrites reports.\n" {
		t.Errorf("listed as %q", out)
	}
	if out, _ = skill(0, "versions", "report"); !strings.HasPrefix(out, "2\t") || strings.Count(out, "\n") != 2 {
		t.Errorf("versions %q", out)
	}
	if out, _ = skill(0, "show", "report", "--version", "1"); strings.Contains(out, "style.md") {
		t.Errorf("the first version is\n%s", out)
	}
	if _, errs = skill(12, "show", "report", "--version", "7"); !strings.Contains(errs, "no such skill") {
		t.Errorf("a version that is not there: %s", errs)
	}
	file := filepath.Join(t.TempDir(), "out.zip")
	skill(0, "download", "report", "--out", file)
	raw, err := os.ReadFile(file)
	if sum := sha256.Sum256(raw); err != nil || hex.EncodeToString(sum[:]) != shown.SHA256 {
		t.Errorf("the archive has another digest: %v", err)
	}
	if _, errs = skill(2, "download", "report", "--out", file); !strings.Contains(errs, "exists") {
		t.Errorf("over a file: %s", errs)
	}
	gone := filepath.Join(t.TempDir(), "gone.zip")
	skill(12, "download", "nothing", "--out", gone)
	if _, err := os.Stat(gone); err == nil {
		t.Error("a failed download leaves a file")
	}
	if out, _ = skill(0, "download", "report", "--out", "-"); out != string(raw) {
		t.Errorf("%d bytes on standard output, want %d", len(out), len(raw))
	}
	if out, _ = skill(0, "upload", file, "--json"); !strings.Contains(out, `"version":2`) {
		t.Errorf("the archive is another version: %s", out)
	}
	if out, _ = skill(0, "deactivate", "report"); !strings.Contains(out, "status: inactive\n") {
		t.Errorf("switched off as\n%s", out)
	}
	o.do(0, "", "agent", "create", "writer", "--tenant", "acme", "--skills", "report")
	if _, errs = skill(13, "delete", "report"); !strings.Contains(errs, "writer") {
		t.Errorf("a skill in use: %s", errs)
	}
	skill(0, "activate", "report")
	skill(0, "delete", "report", "--force")

	// What cannot be used is refused with the line, and links before anything is sent.
	write("SKILL.md", "---\nname: report\ndescription: a: b\n---\n")
	if _, errs = skill(2, "upload", dir); !strings.Contains(errs, "SKILL.md: line 3: the front matter is no YAML") {
		t.Errorf("bad YAML: %s", errs)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, errs = skill(2, "upload", dir); !strings.Contains(errs, `"link" is a link`) {
		t.Errorf("a link: %s", errs)
	}
	if _, errs = skill(2, "upload", filepath.Join(dir, "nothing")); !strings.Contains(errs, "there is no") {
		t.Errorf("no folder: %s", errs)
	}
	if out, _ = skill(0, "list"); out != "" {
		t.Errorf("there are %s", out)
	}
}
