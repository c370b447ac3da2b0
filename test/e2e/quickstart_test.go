package e2e

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

// typed is a command of a page, and what the page says comes of it; or a file to save.
type typed struct {
	line  string
	fails bool
	want  []string
	// file is the name of the file; empty for a command. text is its content.
	file, text string
}

// saves matches the line before a block that is the content of a file.
var saves = regexp.MustCompile("^Save this as `([^`]+)`:$")

// console reads the blocks of a page that begin with ```console, and the files to save.
func console(t *testing.T, page string) (list []typed) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	in, file, inFile := false, "", false
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		if m := saves.FindStringSubmatch(line); m != nil {
			file = m[1]
		}
		switch {
		case file != "" && !inFile && strings.HasPrefix(line, "```"):
			list, inFile = append(list, typed{file: file}), true
		case inFile && line == "```":
			file, inFile = "", false
		case inFile:
			list[len(list)-1].text += line + "\n"
		case line == "```console":
			in = true
		case line == "```":
			in = false
		case in && strings.HasPrefix(line, "$ "):
			command, fails := strings.CutPrefix(line[2:], "! ")
			list = append(list, typed{line: command, fails: fails})
		case in && len(list) > 0:
			list[len(list)-1].want = append(list[len(list)-1].want, line)
		}
	}
	return list
}

// shows reports whether an output is what a page says: "…" is any text on a line, and a line of
// nothing else any number of lines.
func shows(want []string, got string) bool {
	pattern := ""
	for _, line := range want {
		if line == "…" {
			pattern += `(?:.*\n)*`
			continue
		}
		pattern += strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + `\n`
	}
	return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(got)
}

// follow runs every command of a page in a folder, with a server, and holds it to what the page says. changes are the
// addresses of the page and those of the test.
func follow(t *testing.T, page, folder string, server *site, least int, changes ...string) {
	t.Helper()
	exported := []string{"BRAID_SERVER=" + server.url, "PATH=" + filepath.Dir(braid) + string(filepath.ListSeparator) + os.Getenv("PATH")}
	list := console(t, filepath.Join("..", "..", "docs", "guide", page))
	if len(list) < least {
		t.Fatalf("the page has %d commands", len(list))
	}
	changed := strings.NewReplacer(append(changes, "http://127.0.0.1:7421", server.url)...)
	env := environment(t) // one person follows the page
	for _, c := range list {
		if c.file != "" {
			path := filepath.Join(folder, filepath.FromSlash(c.file))
			if err := os.WriteFile(path, []byte(changed.Replace(c.text)), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if set, ok := strings.CutPrefix(c.line, "export "); ok {
			exported = append(exported, set)
			continue
		}
		cmd := exec.Command("sh", "-c", changed.Replace(c.line))
		cmd.Dir, cmd.Env = folder, append(slices.Clone(env), exported...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if got := out.String() + errs.String(); (err != nil) != c.fails || !shows(c.want, got) {
			t.Fatalf("%s: %v, and not what the page says:\n%s", c.line, err, got)
		}
	}
}

// Every command of the page does what the page says.
func TestQuickstartOfTenants(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	follow(t, "tenants-quickstart.md", folder, startServer(t, filepath.Join(folder, "data"), "--log", "none"), 20)
}

// Every command of the page about tools does what the page says, on both databases.
func TestQuickstartOfTools(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"sqlite", "postgres"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			folder, env := t.TempDir(), environment(t)
			if where == "postgres" {
				env = append(env, onPostgres(t, env)...)
			}
			api := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(folder, "api"))))
			t.Cleanup(api.Close)
			docs, addr := signInSite(t), freeAddress(t)
			hosts := strings.TrimPrefix(api.URL, "http://") + "," + strings.TrimPrefix(docs, "http://")
			server := startServerIn(t, env, filepath.Join(folder, "data"), "--log", "none", "--workspaces", "--allow-host", hosts,
				"--addr", addr, "--public-url", "http://"+addr)
			follow(t, "tenants-tools-quickstart.md", folder, server, 25, "http://127.0.0.1:8000", api.URL, "http://127.0.0.1:8001", docs)
		})
	}
}

// signInSite builds and starts the MCP server with its authorization server, and returns their address.
func signInSite(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "signin")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-w", "-o", program, "../../examples/signin").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, "-addr", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	lines.Scan()
	_, base, ok := strings.Cut(lines.Text(), "its authorization server ")
	if !ok {
		t.Fatalf("it says %q", lines.Text())
	}
	return base
}

// freeAddress returns an address of this machine at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// onPostgres starts a private PostgreSQL server with an empty schema, and returns the variables for a server on it.
func onPostgres(t *testing.T, env []string) []string {
	t.Helper()
	if os.Getenv("BRAID_POSTGRES") == "" {
		t.Skip("this test starts a PostgreSQL server: make test-peers runs it, or BRAID_POSTGRES=try")
	}
	pg, err := postgrestest.New(context.Background())
	if errors.Is(err, postgrestest.ErrMissing) && os.Getenv("BRAID_POSTGRES") != "required" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Close(); err != nil {
			t.Error(err)
		}
	})
	owner := pg.URL("postgres", "postgres")
	db, err := pgx.Connect(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.Background()) }()
	if _, err := db.Exec(t.Context(), "CREATE ROLE braid_guest LOGIN"); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(t.TempDir(), "keys.json")
	for _, args := range [][]string{{"secrets", "new", keys}, {"migrate", "--role", "braid_guest"}} {
		cmd := exec.Command(braid, args...)
		cmd.Env = append(slices.Clone(env), "BRAID_POSTGRES_URL="+owner)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("braid %v: %v: %s", args, err, out)
		}
	}
	return []string{"BRAID_POSTGRES_URL=" + pg.URL("braid_guest", "postgres"), "BRAID_SECRETS=" + keys}
}
