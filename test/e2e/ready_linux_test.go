package e2e

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// smallDisk serves on a disk that nobody else sees. Each line of the input fills the disk or frees it again.
const smallDisk = `
mount -t tmpfs -o size=4m,mode=0700 none "$DATA" || exit 0
echo mounted
braid serve --addr 127.0.0.1:0 --data "$DATA" --log none &
server=$!
while read -r what; do
	case "$what" in
	fill) head -c 9000000 /dev/zero >"$DATA/ballast" 2>/dev/null ;;
	free) rm "$DATA/ballast" ;;
	esac
	echo "done $what"
done
kill "$server"; wait "$server"
`

// A server whose disk is full says that it is not ready, and that it is once there is space again. It lives all the time.
func TestReadyOnAFullDisk(t *testing.T) {
	t.Parallel()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("there is no unshare")
	}
	// Not bound to the test's context: a shell that is killed leaves the server behind, which holds the output open.
	cmd := exec.Command(unshare, "--map-root-user", "--mount", "sh", "-c", smallDisk)
	cmd.Env = append(environment(t), "DATA="+t.TempDir())
	for i, pair := range cmd.Env {
		if path, ok := strings.CutPrefix(pair, "PATH="); ok {
			cmd.Env[i] = "PATH=" + filepath.Dir(braid) + string(os.PathListSeparator) + path
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	// The shell ends the server and then itself at the end of its input.
	late := time.AfterFunc(time.Minute, func() { _ = in.Close() })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	until := func(prefix string) (rest string, ok bool) {
		for !ok && lines.Scan() {
			rest, ok = strings.CutPrefix(lines.Text(), prefix)
		}
		return rest, ok
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	if _, ok := until("mounted"); !ok {
		t.Skip("nothing can be mounted here")
	}
	url, ok := until("braid serves on ")
	if !ok {
		t.Fatal("the server does not say where it is")
	}
	until("  token  ")
	client := &http.Client{Timeout: 30 * time.Second}
	status := func(path string) int {
		res, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	becomes := func(want int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); status("/readyz") != want; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("/readyz is %d, want %d", status("/readyz"), want)
			}
		}
		if got := status("/healthz"); got != http.StatusOK {
			t.Errorf("/healthz is %d", got)
		}
	}
	becomes(http.StatusOK)
	for _, step := range []struct {
		do   string
		want int
	}{{"fill", http.StatusServiceUnavailable}, {"free", http.StatusOK}} {
		if _, err := io.WriteString(in, step.do+"\n"); err != nil {
			t.Fatal(err)
		}
		until("done " + step.do)
		becomes(step.want)
	}
}
