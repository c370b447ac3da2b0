package shelltool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/sandbox"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/shelltool"
	"github.com/braidrun/braid/workspace"
	"github.com/braidrun/braid/workspace/workspacetest"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	goleak.VerifyTestMain(m)
}

// need skips a test where there is no sandbox. On the project's own machines that is a failure.
func need(tb testing.TB) {
	tb.Helper()
	if r := sandbox.Probe(context.Background()); r.Level != sandbox.Full {
		if os.Getenv("CI") != "" {
			tb.Fatalf("no sandbox: %s (%s)", r.Why, r.Next)
		}
		tb.Skipf("no sandbox: %s (%s)", r.Why, r.Next)
	}
}

func memory(q workspace.Quota) workspace.Files {
	return workspace.NewStore(new(blob.Memory), q).Open("tenant", "conversation", "")
}

// backends are the kinds of workspaces.
func backends(tb testing.TB, q workspace.Quota) map[string]workspace.Files {
	tb.Helper()
	folder, err := workspace.OpenFolder(tb.TempDir(), q)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = folder.Close() })
	return map[string]workspace.Files{"folder": folder, "blobs": memory(q)}
}

type args = map[string]any

// host is told what calls have changed.
type host struct {
	tool.Host

	files []event.FileChange
}

func (h *host) FilesChanged(list []event.FileChange) { h.files = append(h.files, list...) }
func (h *host) ArtifactSaved(*event.ArtifactSaved)   {}

// output is a result with the changes that the call has reported.
type output struct {
	tool.Output
	Files []event.FileChange
}

// call calls the tool, which asks nobody.
func call(tb testing.TB, files workspace.Files, o shelltool.Options, in args) (output, error) {
	tb.Helper()
	h := &host{}
	out, err := callIn(tb, tool.NewCall(context.Background(), h, tool.Call{}), files, o, in)
	return output{out, h.files}, err
}

func callIn(tb testing.TB, ctx context.Context, files workspace.Files, o shelltool.Options, in args) (tool.Output, error) { //nolint:revive // tb first
	tb.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		tb.Fatal(err)
	}
	o.Unattended = true
	return shelltool.New(files, o).Tools()[0].Call(ctx, raw)
}

func TestACommandChangesTheWorkspace(t *testing.T) {
	t.Parallel()
	need(t)
	for name, files := range backends(t, workspace.Quota{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for path, text := range map[string]string{"same": "same", "changed": "one", "removed": "x", "sub/kept": "y", "becomes/a/folder": "z", "file": "f"} {
				workspacetest.Write(t, files, path, text)
			}
			out, err := call(t, files, shelltool.Options{}, args{"command": `
touch same; printf two > changed; rm removed; mkdir -p new/deep; printf 1234 > new/deep/er; rm -r becomes; printf file > becomes
rm file; mkdir file; printf in > file/in; ln -s /etc/passwd link; mkfifo pipe; echo data > 'a:b'; echo out; echo err >&2; exit 3`})
			if err != nil {
				t.Fatal(err)
			}
			want := []event.FileChange{
				{Path: "becomes", Kind: workspace.Added, Size: 4},
				{Path: "becomes/a/folder", Kind: workspace.Removed},
				{Path: "changed", Kind: workspace.Changed, Size: 3},
				{Path: "file", Kind: workspace.Removed},
				{Path: "file/in", Kind: workspace.Added, Size: 2},
				{Path: "new/deep/er", Kind: workspace.Added, Size: 4},
				{Path: "removed", Kind: workspace.Removed},
			}
			got := slices.DeleteFunc(slices.Clone(out.Files), func(c event.FileChange) bool { return c.Path == "same" })
			if !slices.Equal(got, want) || name == "blobs" && len(got) != len(out.Files) {
				t.Errorf("got %v", out.Files)
			}
			text := event.TextOf(out.Content)
			if !strings.HasPrefix(text, "out\nerr\n(exit code 3)\nChanges of files:\n- added \"becomes\"\n") {
				t.Errorf("the model reads %s", text)
			}
			if name == "blobs" && !strings.Contains(text, "Not stored: 3 links, devices,") {
				t.Errorf("the model does not read what was left out: %s", text)
			}
			paths := workspacetest.Paths(t, files, workspace.Query{})
			if want := []string{"becomes", "changed", "file/in", "new/deep/er", "same", "sub/kept"}; !slices.Equal(paths, want) {
				t.Errorf("the workspace holds %q", paths)
			}
			if got := workspacetest.Read(t, files, "changed"); got != "two" {
				t.Errorf("changed holds %q", got)
			}
			out, err = call(t, files, shelltool.Options{}, args{"command": "pwd; cat kept", "folder": "sub/"})
			if got := event.TextOf(out.Content); err != nil || got != "/workspace/sub\ny\n(exit code 0)\n" && name == "blobs" {
				t.Errorf("in a folder: %q, %v", got, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	need(t)
	for name, c := range map[string]struct {
		in   args
		kind event.ErrorKind
	}{
		"an empty command":       {args{"command": " \n"}, event.ErrInvalid},
		"a NUL":                  {args{"command": "echo a\x00b"}, event.ErrInvalid},
		"a folder outside":       {args{"command": "ls", "folder": "../x"}, event.ErrInvalid},
		"an absolute folder":     {args{"command": "ls", "folder": "/etc"}, event.ErrInvalid},
		"a folder of nobody":     {args{"command": "ls", "folder": "none"}, event.ErrNotFound},
		"a timeout of the past":  {args{"command": "ls", "timeout": -1}, event.ErrInvalid},
		"a command without end":  {args{"command": strings.Repeat("x", 2<<20)}, event.ErrInvalid},
		"arguments of the model": {args{"command": "ls", "host": "example.org"}, ""},
	} {
		for backend, files := range backends(t, workspace.Quota{}) {
			if _, err := call(t, files, shelltool.Options{}, c.in); err == nil || c.kind != "" && event.KindOf(err) != c.kind {
				t.Errorf("%s, %s: %v", name, backend, err)
			}
		}
	}
	if _, err := call(t, nil, shelltool.Options{}, args{"command": "ls"}); event.KindOf(err) != event.ErrInvalid {
		t.Errorf("without a workspace: %v", err)
	}
}

// TestQuotasHold where a command writes more than the workspace takes.
func TestQuotasHold(t *testing.T) {
	t.Parallel()
	need(t)
	files := memory(workspace.Quota{File: 100, Bytes: 250, Files: 5})
	workspacetest.Write(t, files, "old", strings.Repeat("x", 90))
	out, err := call(t, files, shelltool.Options{}, args{"command": `rm old; for i in a b c; do head -c 90 /dev/zero > $i; done; head -c 101 /dev/zero > large; for i in 1 2 3 4 5; do : > $i; done`})
	if err != nil {
		t.Fatal(err)
	}
	text := event.TextOf(out.Content)
	if !out.IsError || !strings.Contains(text, `Not stored: "large": the file has more than 100 bytes.`) {
		t.Errorf("the model reads %s", text)
	}
	list, err := files.List(t.Context(), workspace.Query{})
	bytes := int64(0)
	for _, f := range list {
		bytes += f.Size
	}
	if err != nil || len(list) > 5 || bytes > 250 || len(list)+1 != len(out.Files) {
		t.Errorf("the workspace holds %d files of %d bytes, %v; listed are %v", len(list), bytes, err, out.Files)
	}
}

// meanwhile changes a file of the workspace before the command's changes are stored.
type meanwhile struct {
	workspace.Files

	once sync.Once
	do   func()
}

func (m *meanwhile) Put(ctx context.Context, path string, r io.Reader, c workspace.Condition) (workspace.File, error) {
	m.once.Do(m.do)
	return m.Files.Put(ctx, path, r, c)
}

// TestAChangeOfSomebodyElseStays when a command has changed the same file.
func TestAChangeOfSomebodyElseStays(t *testing.T) {
	t.Parallel()
	need(t)
	under := memory(workspace.Quota{})
	workspacetest.Write(t, under, "b", "old")
	files := &meanwhile{Files: under}
	files.do = func() {
		workspacetest.Write(t, under, "b", "theirs")
		workspacetest.Write(t, under, "c", "theirs")
	}
	out, err := call(t, files, shelltool.Options{}, args{"command": "echo a > a; echo mine > b; echo mine > c"})
	if err != nil {
		t.Fatal(err)
	}
	if got := workspacetest.Read(t, under, "b") + workspacetest.Read(t, under, "c") + workspacetest.Read(t, under, "a"); got != "theirstheirsa\n" {
		t.Errorf("the files hold %q", got)
	}
	if text := event.TextOf(out.Content); !out.IsError || strings.Count(text, "somebody else has changed it meanwhile") != 2 || len(out.Files) != 1 {
		t.Errorf("the model reads %s", text)
	}
}

// TestNothingIsLeftBehind in the system's temporary folder, whatever the command makes of its own.
func TestNothingIsLeftBehind(t *testing.T) {
	need(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, command := range []string{
		"echo x > y", "mkdir a; echo x > a/b; chmod 0 a", "chmod 0 .", "i=0; while [ $i -lt 3000 ]; do mkdir d && cd d; i=$((i+1)); done 2>/dev/null; true",
		"mkdir -- -rf '*' ' '; : > '...'; : > '..x'",
	} {
		if _, err := call(t, memory(workspace.Quota{}), shelltool.Options{}, args{"command": command}); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := callIn(t, ctx, memory(workspace.Quota{}), shelltool.Options{}, args{"command": "echo x > y"}); event.KindOf(err) != event.ErrCancelled {
		t.Errorf("a cancelled call: %v", err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestTheGitFolderIsClosed where a command works in the user's own folder: git runs what stands there.
func TestTheGitFolderIsClosed(t *testing.T) {
	t.Parallel()
	need(t)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".git/hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := workspace.OpenFolder(dir, workspace.Quota{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if _, err := call(t, files, shelltool.Options{}, args{"command": "echo x > .git/hooks/post-checkout; mv .git x; rm -rf .git; echo x > .git/config"}); err != nil {
		t.Fatal(err)
	}
	if got := workspacetest.Paths(t, files, workspace.Query{}); len(got) > 0 {
		t.Errorf("the command wrote %q", got)
	}
}

// A command makes no repository in which a user's git would run its programs, and changes none in a folder below.
func TestACommandMakesNoFilesOfGit(t *testing.T) {
	t.Parallel()
	need(t)
	for name, files := range backends(t, workspace.Quota{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workspacetest.Write(t, files, "kept/.git/config", "old")
			workspacetest.Write(t, files, "kept/gone", "x")
			out, err := call(t, files, shelltool.Options{}, args{"command": `mkdir -p .git/hooks new/.GIT; echo x > .git/config; echo x > .git/hooks/pre-commit
echo x > new/.GIT/config; echo 'gitdir: ../x' > kept/gone; mkdir link; ln -s ../new link/.git; mkdir file; echo 'gitdir: ../x' > file/.git
echo new > kept/.git/config; rm -rf kept/.git; mv kept moved; mkdir -p kept/.git; echo new > kept/.git/config; echo fine > .gitignore`})
			if err != nil {
				t.Fatal(err)
			}
			text := event.TextOf(out.Content)
			if !out.IsError || !strings.Contains(text, "because git runs programs that they name") {
				t.Errorf("the model reads %s", text)
			}
			paths := slices.DeleteFunc(workspacetest.Paths(t, files, workspace.Query{}), func(p string) bool { return p == "moved/gone" || p == "kept/gone" })
			if want := []string{".gitignore", "kept/.git/config"}; !slices.Equal(paths, want) {
				t.Errorf("the workspace holds %q: %s", paths, text)
			}
			if got := workspacetest.Read(t, files, "kept/.git/config"); got != "old" {
				t.Errorf("the configuration is %q", got)
			}
			if at, ok := files.(*workspace.Folder); ok {
				if _, err := os.Lstat(filepath.Join(at.Dir(), "link/.git")); !os.IsNotExist(err) {
					t.Errorf("a link to another folder stays: %v", err)
				}
			}
		})
	}
}

func TestLimitsAreTold(t *testing.T) {
	t.Parallel()
	need(t)
	files := memory(workspace.Quota{})
	o := shelltool.Options{Limits: sandbox.Limits{Time: 3 * time.Second, Output: 100}}
	out, err := call(t, files, o, args{"command": "echo x > kept; sleep 100", "timeout": 1000})
	if text := event.TextOf(out.Content); err != nil || !out.IsError || !strings.Contains(text, "(The command was ended: it ran for more than 3s.)") {
		t.Errorf("the model reads %s, %v", text, err)
	}
	if got := workspacetest.Read(t, files, "kept"); got != "x\n" { // what it had written counts
		t.Errorf("the file holds %q", got)
	}
	o.Limits.Time = 0 // the machine may be slow
	out, err = call(t, files, o, args{"command": `printf 'a\000\377\033[31m'; head -c 100000 /dev/zero | tr '\000' b`})
	if text := event.TextOf(out.Content); err != nil || strings.Contains(text, "\x00") || !utf8.ValidString(text) || !strings.Contains(text, "bytes of output are left out here") || len(text) > 300 {
		t.Errorf("the model reads %q, %v", text, err)
	}
	out, err = call(t, files, o, args{"command": "kill -9 $$"})
	if text := event.TextOf(out.Content); err != nil || text != "(Signal 9 ended the command.)\n" {
		t.Errorf("the model reads %q, %v", text, err)
	}
}

// TestTheToolAsks a user before each command, unless the agent's permissions have asked.
func TestTheToolAsks(t *testing.T) {
	t.Parallel()
	need(t)
	for name, c := range map[string]struct {
		options     shelltool.Options
		permissions braid.Permissions
		answer      string
		asked, ran  bool
	}{
		"by itself":            {answer: `{"approved":true}`, asked: true, ran: true},
		"and is refused":       {answer: `{"approved":false,"reason":"no"}`, asked: true},
		"as the policy says":   {permissions: braid.Permissions{Ask: []string{"shell"}}, answer: `{"approved":true}`, asked: true, ran: true},
		"and not when allowed": {options: shelltool.Options{Unattended: true}, ran: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := memory(workspace.Quota{})
			script, err := demo.New(demo.Replies("builder", []demo.Piece{demo.Call("shell", `{"command":"echo ran > file"}`)}, []demo.Piece{demo.Say("Done.")}))
			if err != nil {
				t.Fatal(err)
			}
			agent := braid.New("builder", script, braid.From(shelltool.New(files, c.options)), braid.Permit(c.permissions))
			r, err := agent.Run(t.Context(), "Build.")
			if err != nil {
				t.Fatal(err)
			}
			if got := len(r.Questions) == 1; got != c.asked {
				t.Fatalf("asked: %v", r.Questions)
			}
			if c.asked {
				if got := workspacetest.Paths(t, files, workspace.Query{}); len(got) > 0 {
					t.Errorf("before the answer stand %q", got)
				}
				if !strings.Contains(fmt.Sprint(r.Questions[0].Prompt, string(r.Questions[0].Args)), "echo ran > file") {
					t.Errorf("the question does not show the command: %+v", r.Questions[0])
				}
				if err := r.Conversation.Answer(t.Context(), r.Questions[0].Token, json.RawMessage(c.answer)); err != nil {
					t.Fatal(err)
				}
				if r, err = agent.Resume(t.Context(), r.Conversation); err != nil || len(r.Questions) > 0 {
					t.Fatal(r.Questions, err)
				}
			}
			if got := slices.Contains(workspacetest.Paths(t, files, workspace.Query{}), "file"); got != c.ran {
				t.Errorf("it ran: %v", got)
			}
			changes, _, err := workspace.RunChanges(r.Run, r.Conversation.Events(t.Context(), 0))
			if err != nil || (len(changes) == 1) != c.ran {
				t.Errorf("the run lists %v, %v", changes, err)
			}
		})
	}
}
