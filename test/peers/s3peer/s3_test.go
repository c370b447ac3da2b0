//go:build peers

package s3peer

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
	"github.com/braidrun/braid/workspace/s3"
	"github.com/braidrun/braid/workspace/workspacetest"
)

const (
	key    = "AKIDEXAMPLE"
	secret = "a-secret-of-the-gateway"
	bucket = "files"
)

// gateway starts the server and returns its address.
func gateway(t *testing.T) string {
	t.Helper()
	program := os.Getenv("BRAID_PEERS_S3")
	if program == "" {
		t.Skip("run it with scripts/test-peers s3")
	}
	root, side := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(root, bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	cmd := exec.Command(program, "--port", address, "--access", key, "--secret", secret, "--region", "eu-west-1", "--quiet", "posix", "--sidecar", side, root)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get("http://" + address)
		if err == nil {
			_ = res.Body.Close()
			return "http://" + address
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("the gateway does not answer: %v\n%s", err, log.String())
		}
	}
}

func options(endpoint, prefix string) s3.Options {
	return s3.Options{
		Bucket: bucket, Prefix: prefix, Endpoint: endpoint,
		Config: aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider(key, secret, "")},
	}
}

func open(tb testing.TB, o s3.Options) *s3.Bucket {
	tb.Helper()
	b, err := s3.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.Close)
	return b
}

func TestContract(t *testing.T) {
	endpoint := gateway(t)
	b := open(t, options(endpoint, "contract"))
	if err := b.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	workspacetest.Run(t, func(tb testing.TB, q workspace.Quota) workspace.Files {
		one := b
		if q != (workspace.Quota{}) {
			o := options(endpoint, "bounded")
			o.Quota = q
			one = open(tb, o)
		}
		return one.Files(workspace.Owner{Tenant: "a tenant/..", Conversation: fmt.Sprint("c", n.Add(1)), Incarnation: "1"})
	})
}

func TestWholeWorkspaces(t *testing.T) {
	b := open(t, options(gateway(t), "a/b"))
	ctx := t.Context()
	from, to := workspace.Owner{Tenant: "t", Conversation: "1"}, workspace.Owner{Tenant: "t", Conversation: "2"}
	other := workspace.Owner{Tenant: "t2", Conversation: "1"}
	for i := range 30 {
		workspacetest.Write(t, b.Files(from), fmt.Sprintf("d/ä+%%& %02d.txt", i), strings.Repeat("x", i))
	}
	workspacetest.Write(t, b.Files(other), "x", "theirs")
	if err := b.Copy(ctx, from, to); err != nil {
		t.Fatal(err)
	}
	if got := workspacetest.Read(t, b.Files(to), "d/ä+%& 29.txt"); got != strings.Repeat("x", 29) {
		t.Errorf("a copied file holds %q", got)
	}
	if n, err := b.Stored(ctx, "t"); err != nil || n != 2*435 {
		t.Errorf("Stored: %d, %v", n, err)
	}
	if err := b.Remove(ctx, from); err != nil {
		t.Fatal(err)
	}
	if a, z := workspacetest.Paths(t, b.Files(from), workspace.Query{}), workspacetest.Paths(t, b.Files(to), workspace.Query{}); len(a) != 0 || len(z) != 30 {
		t.Errorf("after a removal there are %d and %d files", len(a), len(z))
	}
	if err := errors.Join(b.RemoveTenant(ctx, "t"), b.RemoveTenant(ctx, "t")); err != nil {
		t.Fatal(err)
	}
	if got := workspacetest.Paths(t, b.Files(to), workspace.Query{}); len(got) != 0 {
		t.Errorf("after the tenant was removed there are %q", got)
	}
	if got := workspacetest.Read(t, b.Files(other), "x"); got != "theirs" {
		t.Errorf("the file of another tenant holds %q", got)
	}
}

func TestRefusals(t *testing.T) {
	endpoint := gateway(t)
	wrong := options(endpoint, "")
	wrong.Config.Credentials = credentials.NewStaticCredentialsProvider(key, "wrong", "")
	none := options(endpoint, "")
	none.Bucket = "nowhere"
	for name, o := range map[string]s3.Options{"a wrong secret": wrong, "no bucket": none} {
		if err := open(t, o).Check(t.Context()); event.KindOf(err) != event.ErrUnavailable {
			t.Errorf("%s: %v", name, err)
		} else {
			t.Log(name, err)
		}
	}
}
