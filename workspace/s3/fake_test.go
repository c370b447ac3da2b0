package s3_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/braidrun/braid/internal/loopback"
	"github.com/braidrun/braid/workspace"
	"github.com/braidrun/braid/workspace/s3"
)

type stored struct {
	data []byte
	meta map[string]string
}

func (s *stored) etag() string {
	sum := md5.Sum(s.data)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// fake is a store in memory, which fails as a test says. test/peers has a real one.
type fake struct {
	mu      sync.Mutex
	objects map[string]*stored
	// before is called with each request. It reports whether it has answered.
	before func(w http.ResponseWriter, r *http.Request) bool
	// page is how many keys a list has at once.
	page int
	// versions says that the bucket keeps old versions.
	versions bool
	requests []string
}

const bucketName = "the-secret-bucket"

func (f *fake) refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>in %s</Message></Error>", code, bucketName)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	before := f.before
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	f.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	sum := sha256.Sum256(body)
	short := md5.Sum(body)
	switch said := r.Header.Get("Content-Md5"); {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"):
		f.refuse(w, 403, "AccessDenied")
		return
	case r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]), said != "" && said != base64.StdEncoding.EncodeToString(short[:]):
		f.refuse(w, 400, "BadDigest")
		return
	}
	key, ok := strings.CutPrefix(r.URL.Path, "/"+bucketName)
	if !ok {
		f.refuse(w, 404, "NoSuchBucket")
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer(w, r, strings.TrimPrefix(key, "/"), body)
}

func (f *fake) answer(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	query := r.URL.Query()
	have := f.objects[key]
	switch {
	case r.Method == http.MethodGet && query.Has("versioning"):
		status := "Suspended"
		if f.versions {
			status = "Enabled"
		}
		fmt.Fprintf(w, "<VersioningConfiguration><Status>%s</Status></VersioningConfiguration>", status)
	case r.Method == http.MethodGet && key == "":
		f.list(w, query)
	case r.Method == http.MethodPost:
		var ask struct {
			Objects []struct{ Key string } `xml:"Object"`
		}
		if xml.Unmarshal(body, &ask) != nil {
			f.refuse(w, 400, "MalformedXML")
			return
		}
		for _, o := range ask.Objects {
			delete(f.objects, o.Key)
		}
		fmt.Fprint(w, "<DeleteResult/>")
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		from, err := url.PathUnescape(strings.TrimPrefix(r.Header.Get("X-Amz-Copy-Source"), "/"+bucketName+"/"))
		if source := f.objects[from]; err == nil && source != nil {
			f.objects[key] = source
			fmt.Fprint(w, "<CopyObjectResult/>")
			return
		}
		f.refuse(w, 404, "NoSuchKey")
	case r.Method == http.MethodPut && r.Header.Get("If-None-Match") == "*" && have != nil,
		r.Method == http.MethodPut && r.Header.Get("If-Match") != "" && (have == nil || r.Header.Get("If-Match") != have.etag()):
		f.refuse(w, 412, "PreconditionFailed")
	case r.Method == http.MethodPut:
		next := &stored{data: body, meta: map[string]string{}}
		for name := range r.Header {
			if strings.HasPrefix(name, "X-Amz-Meta-") {
				next.meta[name] = r.Header.Get(name)
			}
		}
		f.objects[key] = next
		w.Header().Set("Etag", next.etag())
	case have == nil:
		f.refuse(w, 404, "NoSuchKey")
	case r.Method == http.MethodDelete:
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		for name, value := range have.meta {
			w.Header().Set(name, value)
		}
		w.Header().Set("Etag", have.etag())
		w.Header().Set("Content-Length", strconv.Itoa(len(have.data)))
		_, _ = w.Write(have.data)
	}
}

func (f *fake) list(w http.ResponseWriter, query url.Values) {
	most := f.page
	if n, err := strconv.Atoi(query.Get("max-keys")); err == nil {
		most = min(most, n)
	}
	after := max(query.Get("start-after"), query.Get("continuation-token"))
	var keys []string
	for key := range f.objects {
		if strings.HasPrefix(key, query.Get("prefix")) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var b bytes.Buffer
	b.WriteString(`<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`)
	if len(keys) > most {
		keys = keys[:most]
		b.WriteString("<IsTruncated>true</IsTruncated><NextContinuationToken>")
		_ = xml.EscapeText(&b, []byte(keys[most-1]))
		b.WriteString("</NextContinuationToken>")
	}
	for _, key := range keys {
		b.WriteString("<Contents><Key>")
		_ = xml.EscapeText(&b, []byte(key))
		fmt.Fprintf(&b, "</Key><Size>%d</Size><ETag>%s</ETag><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>",
			len(f.objects[key].data), strings.ReplaceAll(f.objects[key].etag(), `"`, "&quot;"))
	}
	b.WriteString("</ListBucketResult>")
	_, _ = w.Write(b.Bytes())
}

// keys returns all keys.
func (f *fake) keys() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.objects {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

// failing has the store answer with before from now on; nil ends that.
func (f *fake) failing(before func(w http.ResponseWriter, r *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

// open returns a bucket in a new store.
func open(t *testing.T, change func(*s3.Options)) (*s3.Bucket, *fake) {
	t.Helper()
	f := &fake{objects: map[string]*stored{}, page: 3}
	server := loopback.Start(f)
	t.Cleanup(server.Close)
	o := s3.Options{
		Bucket: bucketName, Prefix: "braid/files", Endpoint: server.URL, Client: server.Client(), Stall: 5 * time.Second,
		Config: aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "the-secret-key", "")},
	}
	if change != nil {
		change(&o)
	}
	b, err := s3.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s3.Hurry(b)
	t.Cleanup(b.Close)
	return b, f
}

// ofConversation is the workspace of a conversation.
func ofConversation(b *s3.Bucket, tenant, conversation string) workspace.Files {
	return b.Files(workspace.Owner{Tenant: tenant, Conversation: conversation, Incarnation: "1"})
}
