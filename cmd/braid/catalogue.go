package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/cmd/braid/internal/term"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/models"
	"github.com/braidrun/braid/pricing"
)

// catalogueHead begins a catalogue that braid has written. No other file is overwritten.
const catalogueHead = "# Written by braid models --refresh. These rows go before the built-in table of prices;\n" +
	"# --prices FILE goes before both. Remove this file to go back.\n"

// readCatalogue reads the refreshed catalogue; nil if there is none.
func readCatalogue(path string) (*pricing.Table, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // the nil table has no prices
	}
	data, err := conf.ReadLimited(path, pricing.MaxTable)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // the same
	case err != nil:
		return nil, err
	}
	return pricing.Parse(data)
}

// layCatalogue puts the refreshed catalogue over the built-in table. It ignores, with a warning,
// a catalogue that is older than the built-in table or cannot be read.
func (p *process) layCatalogue(path string) *pricing.Table {
	built := pricing.Default()
	table, err := usedCatalogue(path)
	if err != nil {
		p.warnOf(models.Warning{
			Text: "The refreshed catalogue of models cannot be read, so the built-in prices are used.",
			Next: "refresh it again with braid models --refresh, or remove " + path,
		})
		return built
	}
	return built.With(table)
}

// usedCatalogue returns the refreshed catalogue unless it is older than the built-in table; else
// nil.
func usedCatalogue(path string) (*pricing.Table, error) {
	table, err := readCatalogue(path)
	if err != nil || table.Date() < pricing.Default().Date() {
		return nil, err
	}
	return table, nil
}

// refreshTime is the timeout of fetching a catalogue.
const refreshTime = 60 * time.Second

// fetcher gets catalogues. Its client has no cookies and no credentials.
type fetcher struct {
	client *http.Client
	time   time.Duration
}

func newFetcher(transport http.RoundTripper) fetcher {
	return fetcher{&http.Client{Transport: transport, CheckRedirect: checkHop}, refreshTime}
}

var errHop = errors.New("it redirects to an address that is not https")

// checkHop allows redirects to https only, and from this machine to this machine.
func checkHop(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case len(via) >= 5:
		return errors.New("it redirects too often")
	case req.URL.User != nil:
		return errHop
	case first.Scheme == "http" && fetchable(req.URL) && onLoopback(req.URL):
		return nil
	case req.URL.Scheme != "https" || first.Scheme != "https":
		return errHop
	}
	return nil
}

// fetchable reports whether a catalogue may be fetched from an address: https, or this machine.
func fetchable(u *url.URL) bool {
	return u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && onLoopback(u))
}

func onLoopback(u *url.URL) bool {
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// get fetches a catalogue of at most [pricing.MaxCatalogue] bytes.
func (f fetcher) get(ctx context.Context, u *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, f.time)
	defer cancel()
	failed := func(kind event.ErrorKind, what string, err error) error {
		return &event.Error{
			Kind: kind, Message: fmt.Sprintf("the catalogue at %s cannot be fetched: %s", term.CleanLine(u.Host), what),
			Hint: "check the address, or fetch it yourself and name the file", Err: err,
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, failed(event.ErrInvalid, "the address is wrong", err)
	}
	req.Header.Set("Accept", "application/json, application/yaml, text/yaml")
	req.Header.Set("User-Agent", "braid")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, failed(event.ErrUnavailable, reason(ctx, err), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, failed(event.ErrUnavailable, fmt.Sprintf("it answers with status %d", resp.StatusCode), nil)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, pricing.MaxCatalogue+1))
	switch {
	case err != nil:
		return nil, failed(event.ErrUnavailable, reason(ctx, err), err)
	case len(data) > pricing.MaxCatalogue:
		return nil, failed(event.ErrTooLarge, "it is larger than 16 MiB", nil)
	}
	return data, nil
}

// reason describes why a fetch failed, without the URL: its query may contain a secret.
func reason(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "it took too long, or was cancelled"
	}
	if errors.Is(err, errHop) {
		return errHop.Error()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return term.CleanLine(term.Fit(err.Error(), 120))
}

// source reads a catalogue from a file or a URL. page is the URL without its query, or "" for a file.
func (f fetcher) source(ctx context.Context, from string) (data []byte, page string, err error) {
	if !strings.Contains(from, "://") {
		data, err := readCatalogueFile(from)
		return data, "", err
	}
	u, err := url.Parse(from)
	if err != nil || !fetchable(u) {
		return nil, "", term.Invalid("name an https address, an http address of this machine, or a file",
			"--refresh: the address is not one to fetch from")
	}
	if data, err = f.get(ctx, u); err != nil {
		return nil, "", err
	}
	u.RawQuery, u.Fragment = "", ""
	return data, u.String(), nil
}

func readCatalogueFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &event.Error{
			Kind: event.ErrNotFound, Message: "there is no such catalogue", Hint: "check the file that --refresh names", Err: err,
		}
	case err != nil || !info.Mode().IsRegular():
		return nil, &event.Error{Kind: event.ErrInvalid, Message: "the catalogue is not a file", Hint: "name a file, or an https address", Err: err}
	}
	data, err := conf.ReadLimited(path, pricing.MaxCatalogue)
	if errors.Is(err, conf.ErrTooLarge) {
		return nil, &event.Error{
			Kind: event.ErrTooLarge, Message: "the catalogue is larger than 16 MiB", Hint: "check the file that --refresh names", Err: err,
		}
	}
	if err != nil {
		return nil, &event.Error{
			Kind: event.ErrPermission, Message: "the catalogue cannot be read", Hint: "give yourself the right to read it", Err: err,
		}
	}
	return data, nil
}

// refreshed is the result of a refresh.
type refreshed struct {
	// From is the file or the URL, without its query.
	From string `json:"from"`
	// File is the path of the catalogue; Written reports whether this refresh wrote it.
	File    string       `json:"file"`
	Written bool         `json:"written"`
	Date    string       `json:"date"`
	Changes []changeJSON `json:"changes"`
	// LeftOut counts rejected rows by reason.
	LeftOut map[string]int `json:"left_out,omitempty"`

	changes []pricing.Change
}

type changeJSON struct {
	Model      string             `json:"model"`
	Kind       pricing.ChangeKind `json:"kind"`
	Was        *priceJSON         `json:"was,omitempty"`
	Is         *priceJSON         `json:"is,omitempty"`
	WasContext int                `json:"was_context_window,omitempty"`
	Context    int                `json:"context_window,omitempty"`
	Embedding  bool               `json:"embedding,omitempty"`
}

// refreshModels reads a catalogue, prints its changes, and keeps it for later runs.
func (p *process) refreshModels(ctx context.Context, in *conf.Invocation, f fetcher) error {
	cfg, err := p.Config(in)
	if err != nil {
		return err
	}
	if len(in.Args) > 0 {
		return term.Invalid("braid models --refresh refreshes all providers at once", "--refresh goes with no provider")
	}
	path := conf.CataloguePath(cfg.File)
	if path == "" {
		return term.Invalid("name a configuration file with --config; the catalogue is kept beside it", "there is no folder for settings")
	}
	if err := ours(path); err != nil {
		return err
	}
	from := in.Flags["refresh"]
	data, page, err := f.source(ctx, from)
	if err != nil {
		return err
	}
	vendors, err := readVendors(cfg.Vendors)
	if err != nil {
		return err
	}
	now := p.Now()
	if built, err := time.Parse(time.DateOnly, pricing.Default().Date()); err == nil && now.Before(built) {
		now = built // a catalogue that is older than the built-in table is not used
	}
	list, err := pricing.ParseCatalogue(data, page, now, vendors.Names()...)
	if err != nil {
		return err
	}
	before, err := usedCatalogue(path)
	if err != nil {
		before = nil // it cannot be read, so it is written anew
	}
	over, changes := pricing.Default().With(before).Refresh(list, now)
	out := &refreshed{
		From: term.CleanLine(term.Redact(from)), File: path, Date: over.Date(), LeftOut: list.LeftOut,
		Changes: []changeJSON{}, changes: changes,
	}
	if page != "" {
		out.From = term.CleanLine(term.Redact(page))
	}
	if !in.On("dry-run") && (before != nil || len(over.Models())+len(over.Embeddings()) > 0) {
		if err := writeCatalogue(path, before.With(over)); err != nil {
			return err
		}
		out.Written = true
	}
	if in.On("json") {
		return p.printRefreshedJSON(out)
	}
	return p.Print(refreshedText(out, in.On("dry-run")))
}

// ours refuses a file that braid did not write.
func ours(path string) error {
	head := make([]byte, len(catalogueHead))
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		var n int
		n, err = io.ReadFull(f, head)
		err = errors.Join(err, f.Close())
		head = head[:n]
	}
	if err != nil || !bytes.Equal(head, []byte(catalogueHead)) {
		return &event.Error{
			Kind: event.ErrConflict, Message: "the file " + term.CleanLine(path) + " was not written by braid models --refresh",
			Hint: "move it away; pass your own table with --prices", Err: err,
		}
	}
	return nil
}

// writeCatalogue writes a table atomically.
func writeCatalogue(path string, table *pricing.Table) error {
	text := append([]byte(catalogueHead), table.YAML()...)
	if _, err := pricing.Parse(text); err != nil {
		return err
	}
	cannot := func(err error) error {
		return &event.Error{
			Kind: event.ErrPermission, Message: "the catalogue of models cannot be kept",
			Hint: "let this user write " + term.CleanLine(filepath.Dir(path)), Err: err,
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return cannot(err)
	}
	next, err := os.CreateTemp(filepath.Dir(path), "."+conf.CatalogueFile+".*")
	if err != nil {
		return cannot(err)
	}
	defer os.Remove(next.Name())
	_, err = next.Write(text)
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return cannot(err)
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return cannot(err)
	}
	return nil
}

func (p *process) printRefreshedJSON(out *refreshed) error {
	for i := range out.changes {
		c := &out.changes[i]
		out.Changes = append(out.Changes, changeJSON{
			Model: c.Model, Kind: c.Kind, Was: priceOf(c.Was), Is: priceOf(c.Is),
			WasContext: c.WasContext, Context: c.Context, Embedding: c.Embedding,
		})
	}
	line, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return p.Print(string(term.CleanJSON(nil, line)) + "\n")
}

// maxChanges is the maximum of printed changes of one kind.
const maxChanges = 20

// refreshedText formats a refresh for users.
func refreshedText(out *refreshed, dry bool) string {
	var b strings.Builder
	titles := map[pricing.ChangeKind]string{
		pricing.ChangePrice: "changed", pricing.ChangeNew: "new", pricing.ChangeDeprecated: "given up by their vendors; still used",
		pricing.ChangeUnlisted: "not in the catalogue; still used as before",
	}
	count := map[pricing.ChangeKind]int{}
	for i := range out.changes {
		c := &out.changes[i]
		if count[c.Kind]++; count[c.Kind] == 1 {
			b.WriteString(titles[c.Kind] + "\n")
		}
		if count[c.Kind] <= maxChanges {
			fmt.Fprintf(&b, "  %s%s\n", term.CleanLine(c.Model), changeWords(c))
		}
		if last := i+1 == len(out.changes) || out.changes[i+1].Kind != c.Kind; last {
			if more := count[c.Kind] - maxChanges; more > 0 {
				fmt.Fprintf(&b, "  and %d more: --json lists all\n", more)
			}
			b.WriteString("\n")
		}
	}
	left, reasons := 0, []string{}
	for _, why := range slices.Sorted(maps.Keys(out.LeftOut)) {
		left += out.LeftOut[why]
		reasons = append(reasons, fmt.Sprintf("%d with %s", out.LeftOut[why], why))
	}
	if left > 0 {
		fmt.Fprintf(&b, "left out: %s\n", strings.Join(reasons, ", "))
	}
	switch {
	case out.Written:
		fmt.Fprintf(&b, "%s is kept in %s\n", out.From, term.CleanLine(out.File))
	case dry:
		b.WriteString("nothing was written\n")
	default:
		b.WriteString("nothing has changed\n")
	}
	return b.String()
}

// changeWords formats a change, such as ", input $2.00 -> $3.00".
func changeWords(c *pricing.Change) string {
	var words []string
	add := func(name, was, is string) {
		switch {
		case was == is:
		case c.Kind == pricing.ChangeNew:
			words = append(words, name+" "+is)
		case was == "":
			words = append(words, name+" unknown -> "+is)
		case is == "":
			words = append(words, name+" "+was+" -> unknown")
		default:
			words = append(words, name+" "+was+" -> "+is)
		}
	}
	if c.Kind == pricing.ChangeDeprecated || c.Kind == pricing.ChangeUnlisted {
		return ""
	}
	var was, is pricing.Price
	if c.Was != nil {
		was = *c.Was
	}
	if c.Is != nil {
		is = *c.Is
	}
	for _, r := range [...]struct {
		name    string
		was, is pricing.Rate
	}{
		{"input", was.Input, is.Input},
		{"output", was.Output, is.Output},
		{"cached", was.CacheRead, is.CacheRead},
		{"cache written", was.CacheWrite, is.CacheWrite},
		{"for an hour", was.CacheWriteHour, is.CacheWriteHour},
		{"long input", was.Long.Input, is.Long.Input},
		{"long output", was.Long.Output, is.Long.Output},
		{"a thousand web searches", was.WebSearch, is.WebSearch},
		{"a thousand file searches", was.FileSearch, is.FileSearch},
	} {
		add(r.name, r.was.String(), r.is.String())
	}
	if c.WasContext != c.Context {
		add("context", strings.TrimSuffix(tokensWord(c.WasContext), "-"), strings.TrimSuffix(tokensWord(c.Context), "-"))
	}
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words, ", ")
}
