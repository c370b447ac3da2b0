package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/braidrun/braid/internal/lazyre"
)

// cloudScope is the scope of the tokens.
const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// googleCredentials are Application Default Credentials: the file that
// GOOGLE_APPLICATION_CREDENTIALS names, gcloud's own file, or the account of a Google Cloud
// machine. They are looked up when a model is called, not before. They cache a token until it
// expires. They are safe for concurrent use.
type googleCredentials struct {
	env func(string) string
	// turn is a lock that is held while a token is fetched or read. The first call makes it.
	turn atomic.Pointer[chan struct{}]
	// kept is the last token. turn guards it.
	kept *oauth2.Token
	// quota is the project that calls are counted for, once credentials are known.
	quota atomic.Pointer[string]
}

// tokenPatience bounds a request for a token.
const tokenPatience = 30 * time.Second

// token returns an access token.
func (c *googleCredentials) token(ctx context.Context) (string, error) {
	turn := c.turn.Load()
	if turn == nil {
		one := make(chan struct{}, 1)
		c.turn.CompareAndSwap(nil, &one)
		turn = c.turn.Load()
	}
	select {
	case *turn <- struct{}{}:
		defer func() { <-*turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	const early = time.Minute
	if t := c.kept; t != nil && (t.Expiry.IsZero() || time.Until(t.Expiry) > early) {
		return t.AccessToken, nil
	}
	t, err := c.fetch(ctx)
	if err != nil {
		return "", err
	}
	if t.AccessToken == "" || strings.ContainsFunc(t.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("what answered gave no access token")
	}
	c.kept = t
	return t.AccessToken, nil
}

// fetch requests a token.
func (c *googleCredentials) fetch(ctx context.Context) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenPatience)
	defer cancel()
	// Follow no redirect: assertions and refresh tokens are secrets too.
	client := &http.Client{Transport: during{ctx}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	file := c.file()
	if file == "" {
		c.tell("")
		return within(ctx, google.ComputeTokenSource("", cloudScope))
	}
	data, err := readCredentials(file)
	if err != nil {
		return nil, err
	}
	var said struct {
		Type  google.CredentialsType `json:"type"`
		Quota string                 `json:"quota_project_id"`
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return nil, fmt.Errorf("the file of credentials %s is not JSON", file)
	}
	if err := allowedHosts(data); err != nil {
		return nil, err
	}
	creds, err := google.CredentialsFromJSONWithType(ctx, data, said.Type, cloudScope)
	if err != nil {
		return nil, err
	}
	c.tell(said.Quota)
	return within(ctx, creds.TokenSource)
}

// during ends requests with a context that the library does not pass on.
type during struct{ ctx context.Context } //nolint:containedctx // it is one fetch's own

// RoundTrip implements [http.RoundTripper].
func (d during) RoundTrip(r *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(r.WithContext(d.ctx))
}

// within calls a source that may ignore ctx, and abandons it when ctx ends. The source's own
// requests are bounded.
func within(ctx context.Context, from oauth2.TokenSource) (*oauth2.Token, error) {
	type result struct {
		t   *oauth2.Token
		err error
	}
	done := make(chan result, 1)
	go func() {
		t, err := from.Token()
		done <- result{t, err}
	}()
	select {
	case r := <-done:
		return r.t, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tell stores the project that calls are counted for. The variable has precedence over the file.
func (c *googleCredentials) tell(quota string) {
	if q := strings.TrimSpace(c.env(googleQuota)); q != "" {
		quota = q
	}
	c.quota.Store(&quota)
}

// client returns an HTTP client that names the project that calls are counted for. Google refuses a
// user's credentials without it.
func (c *googleCredentials) client() *http.Client { return &http.Client{Transport: quotaTransport{c}} }

type quotaTransport struct{ of *googleCredentials }

// RoundTrip implements [http.RoundTripper].
func (t quotaTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if q := t.of.quota.Load(); q != nil && *q != "" {
		r = r.Clone(r.Context())
		r.Header.Set("X-Goog-User-Project", *q)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// file returns the path of the credentials file: the named one, or gcloud's if it exists. "" means
// none.
func (c *googleCredentials) file() string {
	if named := strings.TrimSpace(c.env(googleFile)); named != "" {
		return named
	}
	home := filepath.Join(c.env("HOME"), ".config")
	known := c.env("HOME") != ""
	if runtime.GOOS == "windows" {
		home, known = c.env("APPDATA"), c.env("APPDATA") != ""
	}
	path := filepath.Join(home, "gcloud", "application_default_credentials.json")
	if _, err := os.Stat(path); !known || err != nil {
		return ""
	}
	return path
}

// project returns the project of a service account's file; "" means unknown.
func (c *googleCredentials) project() string {
	file := c.file()
	if file == "" {
		return ""
	}
	data, err := readCredentials(file)
	if err != nil {
		return ""
	}
	var said struct {
		Project string `json:"project_id"`
	}
	if json.Unmarshal(data, &said) != nil {
		return ""
	}
	return said.Project
}

// readCredentials reads a credentials file of at most 1 MiB.
func readCredentials(file string) ([]byte, error) {
	f, err := os.Open(file) //nolint:gosec // whoever runs the program names it
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 1 << 20
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, fmt.Errorf("the file of credentials %s is larger than 1 MiB", file)
	}
	return data, nil
}

// allowedHosts refuses credentials of other clouds (external accounts) that would be sent to
// servers other than Google's. The library does not check that.
func allowedHosts(data []byte) error {
	var said struct {
		Type    google.CredentialsType `json:"type"`
		Token   string                 `json:"token_url"`
		Info    string                 `json:"token_info_url"`
		Account string                 `json:"service_account_impersonation_url"`
		Revoke  string                 `json:"revoke_url"`
		Source  json.RawMessage        `json:"source_credentials"`
	}
	if json.Unmarshal(data, &said) != nil {
		return errors.New("the file of credentials is not JSON")
	}
	switch said.Type {
	case google.ExternalAccount, google.ExternalAccountAuthorizedUser, google.ImpersonatedServiceAccount:
	default:
		return nil // a service account's assertion is valid only for the address that it names
	}
	for _, address := range []string{said.Token, said.Info, said.Account, said.Revoke} {
		if address == "" {
			continue
		}
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || !googlesPlaces.MatchString(u.Host) {
			return errors.New("the file of credentials names a server that is not Google's")
		}
	}
	if len(said.Source) > 0 {
		return allowedHosts(said.Source)
	}
	return nil
}

// googlesPlaces matches the hosts that an access token may go to.
var googlesPlaces = lazyre.New(`^([a-z0-9-]+\.)+googleapis\.com$`)
