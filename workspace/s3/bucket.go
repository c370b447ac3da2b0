package s3

import (
	"cmp"
	"context"
	"encoding/xml"
	"hash/fnv"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace"
)

// Bucket stores the workspaces of conversations in a bucket. It is safe for concurrent use.
type Bucket struct {
	base   *url.URL
	bucket string
	prefix string
	region string
	keys   aws.CredentialsProvider
	signer *v4.Signer
	client *http.Client
	quota  workspace.Quota
	stall  time.Duration
	// wait is the wait before the second attempt.
	wait time.Duration
	// changing keeps the quotas true for all writers of this process. Workspaces share the locks.
	changing [64]sync.Mutex
	totals   totals
}

var _ workspace.Backend = (*Bucket)(nil)

// New returns a Bucket. It sends nothing; see [Bucket.Check].
func New(o Options) (*Bucket, error) {
	base, err := o.check()
	if err != nil {
		return nil, err
	}
	b := &Bucket{
		base: base, bucket: o.Bucket, region: o.Region, keys: o.Config.Credentials, signer: v4.NewSigner(), client: o.Client, quota: o.Quota,
		stall: cmp.Or(max(o.Stall, 0), 30*time.Second), wait: firstWait,
	}
	if o.Prefix != "" {
		b.prefix = o.Prefix + "/"
	}
	if b.client == nil {
		b.client = &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 32, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
		}}
	}
	own := *b.client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b.client = &own
	return b, nil
}

// Close closes idle connections. The Bucket can still be used.
func (b *Bucket) Close() { b.client.CloseIdleConnections() }

// Check reports whether the bucket can be used. It refuses one that keeps old versions: removed files would stay in it.
func (b *Bucket) Check(ctx context.Context) error {
	const op = "workspaces"
	if _, err := b.list(ctx, b.prefix, "", 1); err != nil {
		return described(op, "", err)
	}
	data, _, err := b.read(ctx, &call{method: http.MethodGet, query: url.Values{"versioning": {""}}})
	if err != nil {
		return nil //nolint:nilerr // few credentials may ask, and not every store has versions
	}
	var answer struct {
		Status string `xml:"Status"`
	}
	if xml.Unmarshal(data, &answer) == nil && answer.Status == "Enabled" {
		return &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the bucket of the workspaces keeps old versions, so removed files would stay in it",
			Hint: "use a bucket without versioning",
		}
	}
	return nil
}

// Files implements [workspace.Backend].
func (b *Bucket) Files(o workspace.Owner) workspace.Files {
	at := b.of(o)
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(at))
	return &files{in: b, at: at, tenant: o.Tenant, changing: &b.changing[sum.Sum32()%uint32(len(b.changing))]}
}
