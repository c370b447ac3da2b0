package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fullDisk is what a person does on a small disk of their own: nobody else sees the
// mount, and it goes with the shell.
const fullDisk = `
mount -t tmpfs -o size=1m none "$DATA" || { echo cannot mount; exit 0; }
braid run -q --data "$DATA" "What is 6 times 7?"; echo "with space: $?"
head -c 2000000 /dev/zero >"$DATA/ballast" 2>/dev/null
braid run -q --data "$DATA" "What is 5 times 5?"; echo "without space: $?"
braid run -q --ephemeral "What is 5 times 5?"; echo "ephemeral: $?"
braid conversations --data "$DATA" | cut -f 3-; echo "reading: $?"
rm "$DATA/ballast"
braid run -q --data "$DATA" --continue "What is 2 plus 2?"; echo "with space again: $?"
`

func TestAFullDisk(t *testing.T) {
	t.Parallel()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("there is no unshare")
	}
	cmd := exec.CommandContext(t.Context(), unshare, "--map-root-user", "--mount", "sh", "-c", fullDisk)
	cmd.Env = append(environment(t), "DATA="+t.TempDir())
	for i, pair := range cmd.Env {
		if path, ok := strings.CutPrefix(pair, "PATH="); ok {
			cmd.Env[i] = "PATH=" + filepath.Dir(braid) + string(os.PathListSeparator) + path
		}
	}
	out, err := cmd.CombinedOutput()
	got := string(out)
	if err != nil || strings.Contains(got, "cannot mount") {
		t.Skipf("nothing can be mounted here: %v, %s", err, got)
	}
	at := 0
	for _, want := range []string{
		"42.\n", "with space: 0\n",
		"braid: there is no space left for the journal\n  next: free some space, or choose another folder with --data\n", "without space: 29\n",
		"25.\n", "ephemeral: 0\n",
		// SQLite needs a little space to read as well, where nobody has the folder.
		"braid: there is no space left for the journal\n  next: ", "reading: 0\n",
		"with space again: 0\n",
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("no %q behind byte %d of\n%s", want, at, got)
		}
		at += i + len(want)
	}
}
