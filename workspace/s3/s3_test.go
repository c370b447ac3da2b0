package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.uber.org/goleak"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
	"github.com/braidrun/braid/workspace/s3"
	"github.com/braidrun/braid/workspace/workspacetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	t.Parallel()
	b, _ := open(t, nil)
	var n atomic.Int64
	workspacetest.Run(t, func(_ testing.TB, q workspace.Quota) workspace.Files {
		if q != (workspace.Quota{}) {
			bounded, _ := open(t, func(o *s3.Options) { o.Quota = q })
			return ofConversation(bounded, "acme", "c")
		}
		return ofConversation(b, "acme", fmt.Sprint("c", n.Add(1)))
	})
}

// TestWorkspacesAreApart stores files of owners whose ids try to be others.
func TestWorkspacesAreApart(t *testing.T) {
	t.Parallel()
	b, f := open(t, nil)
	ids := []string{"a", "a/b", "b", "..", ".", "", "=", "=2F", "a=2Fb", "A", "日本", "a b", "%2e%2e", "a\x00", "../a"}
	seen := map[string]bool{}
	for _, tenant := range ids {
		for _, conversation := range ids {
			files := ofConversation(b, tenant, conversation)
			if got := workspacetest.Paths(t, files, workspace.Query{}); len(got) > 0 {
				t.Fatalf("%q %q sees %q", tenant, conversation, got)
			}
			workspacetest.Write(t, files, "x", tenant+"\n"+conversation)
		}
	}
	for _, key := range f.keys() {
		if parts := strings.Split(key, "/"); len(parts) != 6 || parts[0] != "braid" || parts[1] != "files" || slices.Contains(parts, "") || slices.Contains(parts, "..") {
			t.Errorf("the key %q leads elsewhere", key)
		}
		seen[key] = true
	}
	if len(seen) != len(ids)*len(ids) {
		t.Errorf("there are %d keys for %d workspaces", len(seen), len(ids)*len(ids))
	}
	if got := workspacetest.Read(t, ofConversation(b, "a", "a/b"), "x"); got != "a\na/b" {
		t.Errorf("the file holds %q", got)
	}
	if err := b.RemoveTenant(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if got := len(f.keys()); got != len(ids)*(len(ids)-1) {
		t.Errorf("after one tenant was removed there are %d files, want %d", got, len(ids)*(len(ids)-1))
	}
	if got := workspacetest.Read(t, ofConversation(b, "A", "a"), "x"); got != "A\na" {
		t.Errorf("the file of another tenant holds %q", got)
	}
}

func TestCopiesRemovesAndCounts(t *testing.T) {
	t.Parallel()
	b, f := open(t, nil)
	ctx := t.Context()
	from, to := workspace.Owner{Tenant: "t", Conversation: "1"}, workspace.Owner{Tenant: "t", Conversation: "2"}
	for i := range 20 {
		workspacetest.Write(t, b.Files(from), fmt.Sprintf("d/ä %d.txt", i), strings.Repeat("x", i))
	}
	if n, err := b.Stored(ctx, "t"); err != nil || n != 190 {
		t.Errorf("Stored: %d, %v", n, err)
	}
	if err := b.Copy(ctx, from, to); err != nil {
		t.Fatal(err)
	}
	if got := workspacetest.Paths(t, b.Files(to), workspace.Query{}); len(got) != 20 {
		t.Errorf("the copy holds %q", got)
	}
	if got := workspacetest.Read(t, b.Files(to), "d/ä 7.txt"); got != "xxxxxxx" {
		t.Errorf("a copied file holds %q", got)
	}
	if err := b.Files(to).Remove(ctx, "d/ä 19.txt"); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Stored(ctx, "t"); err != nil || n != 361 {
		t.Errorf("after a copy without a file, Stored: %d, %v", n, err)
	}
	if err := errors.Join(b.Remove(ctx, from), b.Remove(ctx, from)); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Stored(ctx, "t"); err != nil || n != 171 || len(f.keys()) != 19 {
		t.Errorf("after a removal, Stored: %d, %v; %d keys", n, err, len(f.keys()))
	}
	// A copy that fails leaves nothing.
	f.failing(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.Header.Get("X-Amz-Copy-Source"), "5.txt") {
			fmt.Fprint(w, "<Error><Code>InternalError</Code></Error>") // with the status 200, as S3 does
			return true
		}
		return false
	})
	if err := b.Copy(ctx, to, from); event.KindOf(err) != event.ErrUnavailable {
		t.Errorf("a copy that fails inside: %v", err)
	}
	if got := workspacetest.Paths(t, b.Files(from), workspace.Query{}); len(got) > 0 {
		t.Errorf("it left %q", got)
	}
}

// TestFaults breaks the store in every way, and looks at the error, at the words and at what is stored.
func TestFaults(t *testing.T) {
	t.Parallel()
	status := func(n int, code string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(n)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, bucketName)
			return true
		}
	}
	onlyPut := func(do func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodPut && do(w, r) }
	}
	for name, c := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		kind   event.ErrorKind
		words  string
	}{
		"503 for ever":        {status(503, "SlowDown"), event.ErrUnavailable, "does not answer"},
		"500 for writes":      {onlyPut(status(500, "InternalError")), event.ErrUnavailable, "does not answer"},
		"no bucket":           {status(404, "NoSuchBucket"), event.ErrUnavailable, "no such bucket"},
		"no access":           {status(403, "AccessDenied"), event.ErrUnavailable, "refuses the server's credentials"},
		"expired credentials": {status(400, "ExpiredToken"), event.ErrUnavailable, "refuses the server's credentials"},
		"another region":      {status(301, "PermanentRedirect"), event.ErrUnavailable, "in another region"},
		"no space":            {onlyPut(status(507, "XMinioStorageFull")), event.ErrStorageFull, "no space left"},
		"a refused request":   {onlyPut(status(400, "InvalidRequest")), event.ErrUnavailable, "refuses the request"},
		"a page of HTML":      {func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, "<html>hello"); return true }, event.ErrUnavailable, "does not answer"},
		"a redirect elsewhere": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Location", "http://169.254.169.254/")
			w.WriteHeader(307)
			return true
		}, event.ErrUnavailable, "in another region"},
		"no entity tag":    {onlyPut(func(http.ResponseWriter, *http.Request) bool { return true }), event.ErrUnavailable, "does not answer"},
		"a cut connection": {onlyPut(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }), event.ErrUnavailable, "does not answer"},
		"a list without an end": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Has("list-type") {
				fmt.Fprint(w, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>")
				return true
			}
			return false
		}, event.ErrUnavailable, "does not answer"},
		"keys of others": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Has("list-type") {
				fmt.Fprint(w, "<ListBucketResult><Contents><Key>other/x</Key></Contents></ListBucketResult>")
				return true
			}
			return false
		}, event.ErrUnavailable, "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, f := open(t, nil)
			files := ofConversation(b, "t", "c")
			workspacetest.Write(t, files, "x", "before")
			f.failing(c.before)
			_, err := files.Put(t.Context(), "x", strings.NewReader("after"), workspace.Condition{})
			if event.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %s with %q", err, c.kind, c.words)
			}
			e, ok := errors.AsType[*event.Error](err)
			if !ok || strings.Contains(e.Message+e.Hint, bucketName) || strings.Contains(err.Error(), "the-secret-key") {
				t.Errorf("the error %v says what it must not", err)
			}
			f.failing(nil)
			if got := workspacetest.Read(t, files, "x"); got != "before" {
				t.Errorf("the file holds %q", got)
			}
		})
	}
}

// TestDamagedReads are noticed: half a body, other bytes, other bytes of the same length, and a store that stops.
func TestDamagedReads(t *testing.T) {
	t.Parallel()
	const text = "0123456789"
	for name, before := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"half a body": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, text[:5])
			panic(http.ErrAbortHandler)
		},
		"other bytes": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("X-Amz-Meta-Braid-Sha256", strings.Repeat("0", 64))
			_, _ = io.WriteString(w, "0123456780")
			return true
		},
		"a store that stops": func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, text[:5])
			w.(http.Flusher).Flush() //nolint:forcetypeassert // every server's writer is one
			<-r.Context().Done()
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, f := open(t, func(o *s3.Options) { o.Stall = 50 * time.Millisecond })
			files := ofConversation(b, "t", "c")
			workspacetest.Write(t, files, "x", text)
			f.failing(func(w http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodGet && before(w, r) })
			r, err := files.Open(t.Context(), "x")
			if err == nil {
				_, err = io.ReadAll(r)
				_ = r.Close()
			}
			if event.KindOf(err) != event.ErrUnavailable {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestALostAnswerIsNoConflict stores a file although the answer to the first attempt is lost: the second one finds the file.
func TestALostAnswerIsNoConflict(t *testing.T) {
	t.Parallel()
	b, f := open(t, nil)
	files := ofConversation(b, "t", "c")
	lost := false
	f.failing(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && !lost {
			lost = true
			body, _ := io.ReadAll(r.Body)
			meta := map[string]string{"X-Amz-Meta-Braid-Put": r.Header.Get("X-Amz-Meta-Braid-Put")}
			f.mu.Lock()
			f.objects[strings.TrimPrefix(r.URL.Path, "/"+bucketName+"/")] = &stored{data: body, meta: meta}
			f.mu.Unlock()
			w.WriteHeader(503)
			return true
		}
		return false
	})
	if _, err := files.Put(t.Context(), "x", strings.NewReader("mine"), workspace.Condition{Absent: true}); err != nil {
		t.Error(err)
	}
	_, err := files.Put(t.Context(), "x", strings.NewReader("yours"), workspace.Condition{Absent: true})
	if event.KindOf(err) != event.ErrConflict {
		t.Errorf("another writer: %v", err)
	}
}

// TestTwoProcesses replace one version: the store decides.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	one, f := open(t, nil)
	files := ofConversation(one, "t", "c")
	first := workspacetest.Write(t, files, "x", "begin")
	f.failing(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut { // another process comes between the list and the write
			f.mu.Lock()
			f.objects[strings.TrimPrefix(r.URL.Path, "/"+bucketName+"/")] = &stored{data: []byte("theirs")}
			f.mu.Unlock()
		}
		return false
	})
	_, err := files.Put(t.Context(), "x", strings.NewReader("mine"), workspace.Condition{Version: first.Version})
	if event.KindOf(err) != event.ErrConflict || workspacetest.Read(t, files, "x") != "theirs" {
		t.Errorf("got %v", err)
	}
}

// renewed are credentials that have ended once.
type renewed struct{ calls, invalidated atomic.Int64 }

func (r *renewed) Retrieve(context.Context) (aws.Credentials, error) {
	r.calls.Add(1)
	if r.invalidated.Load() == 0 {
		return aws.Credentials{AccessKeyID: "OLD", SecretAccessKey: "x"}, nil
	}
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "x"}, nil
}

func (r *renewed) Invalidate() { r.invalidated.Add(1) }

func TestCredentialsThatEndAreRenewed(t *testing.T) {
	t.Parallel()
	keys := &renewed{}
	b, f := open(t, func(o *s3.Options) { o.Config.Credentials = keys })
	f.failing(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.Header.Get("Authorization"), "Credential=OLD/") {
			f.refuse(w, 400, "ExpiredToken")
			return true
		}
		return false
	})
	workspacetest.Write(t, ofConversation(b, "t", "c"), "x", "y")
	if keys.invalidated.Load() != 1 {
		t.Errorf("the credentials were renewed %d times", keys.invalidated.Load())
	}
}

// TestAStoreWithoutConditions takes writes without them.
func TestAStoreWithoutConditions(t *testing.T) {
	t.Parallel()
	b, f := open(t, nil)
	f.failing(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("If-None-Match")+r.Header.Get("If-Match") != "" {
			f.refuse(w, 501, "NotImplemented")
			return true
		}
		return false
	})
	files := ofConversation(b, "t", "c")
	first, err := files.Put(t.Context(), "x", strings.NewReader("a"), workspace.Condition{Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = files.Put(t.Context(), "x", strings.NewReader("b"), workspace.Condition{Version: "old"})
	if event.KindOf(err) != event.ErrConflict {
		t.Errorf("an old version: %v", err)
	}
	if _, err = files.Put(t.Context(), "x", strings.NewReader("c"), workspace.Condition{Version: first.Version}); err != nil {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	b, f := open(t, nil)
	if err := b.Check(t.Context()); err != nil {
		t.Error(err)
	}
	f.versions = true
	if err := b.Check(t.Context()); event.KindOf(err) != event.ErrInvalid || !strings.Contains(err.Error(), "keeps old versions") {
		t.Errorf("a bucket that keeps old versions: %v", err)
	}
	f.failing(func(w http.ResponseWriter, _ *http.Request) bool { f.refuse(w, 404, "NoSuchBucket"); return true })
	if err := b.Check(t.Context()); event.KindOf(err) != event.ErrUnavailable {
		t.Errorf("no bucket: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	o, err := s3.ParseAddress("s3://files/a/b/?endpoint=http://127.0.0.1:9000&region=eu-west-1")
	if err != nil || o.Bucket != "files" || o.Prefix != "a/b" || o.Endpoint != "http://127.0.0.1:9000" || o.Region != "eu-west-1" {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, address := range []string{"", "files", "s3://", "http://files/x", "s3://key:secret@files", "s3://files?versions=1", "s3://files#x"} {
		if _, err := s3.ParseAddress(address); event.KindOf(err) != event.ErrInvalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	good := aws.Config{Region: "eu-west-1", Credentials: &renewed{}}
	for name, o := range map[string]s3.Options{
		"a bucket":    {Bucket: "../x", Config: good},
		"a prefix":    {Bucket: "files", Prefix: "../x", Config: good},
		"an endpoint": {Bucket: "files", Endpoint: "file:///etc", Config: good},
		"a region":    {Bucket: "files", Config: aws.Config{Credentials: &renewed{}}},
		"credentials": {Bucket: "files", Config: aws.Config{Region: "eu-west-1"}},
	} {
		if _, err := s3.New(o); event.KindOf(err) != event.ErrInvalid {
			t.Errorf("%s that cannot be: %v", name, err)
		}
	}
}

// TestNoDraftStays behind, whatever becomes of a write.
func TestNoDraftStays(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	b, f := open(t, func(o *s3.Options) { o.Quota.File = 100 })
	files := ofConversation(b, "t", "c")
	workspacetest.Write(t, files, "x", "y")
	_, _ = files.Put(t.Context(), "x", strings.NewReader(strings.Repeat("x", 101)), workspace.Condition{})
	f.failing(func(w http.ResponseWriter, _ *http.Request) bool { f.refuse(w, 403, "AccessDenied"); return true })
	_, _ = files.Put(t.Context(), "x", strings.NewReader("y"), workspace.Condition{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = files.Put(ctx, "x", strings.NewReader("y"), workspace.Condition{})
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("there are %v, %v", list, err)
	}
}

// TestManyWritersKeepTheQuota of one workspace.
func TestManyWritersKeepTheQuota(t *testing.T) {
	t.Parallel()
	b, _ := open(t, func(o *s3.Options) { o.Quota = workspace.Quota{Files: 5} })
	files := ofConversation(b, "t", "c")
	var group sync.WaitGroup
	var won atomic.Int64
	for i := range 12 {
		group.Go(func() {
			_, err := files.Put(t.Context(), fmt.Sprint(i), strings.NewReader("x"), workspace.Condition{})
			switch {
			case err == nil:
				won.Add(1)
			case event.KindOf(err) != event.ErrQuota:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := len(workspacetest.Paths(t, files, workspace.Query{})); n != 5 || won.Load() != 5 {
		t.Errorf("%d writers stored %d files", won.Load(), n)
	}
}
