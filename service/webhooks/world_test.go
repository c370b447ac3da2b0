package webhooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/webhooks"
)

// plainSealer binds values to their place and hides nothing.
type plainSealer struct{}

func (plainSealer) Seal(plain, place []byte) ([]byte, error) {
	return slices.Concat(place, []byte("\n"), plain), nil
}

func (plainSealer) Open(sealed, place []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(sealed, slices.Concat(place, []byte("\n")))
	if !ok {
		return nil, errors.New("it belongs elsewhere")
	}
	return plain, nil
}

// logs is a journal: events by conversation.
type logs struct {
	mu sync.Mutex
	of map[string][]*event.Event
}

func (l *logs) Read(_ context.Context, conversation string, after int64, _ int) ([]*event.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range l.of[conversation] {
		if e.Seq > after {
			return l.of[conversation][i : i+1], nil
		}
	}
	return nil, nil
}

func (l *logs) commit(e *event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[e.Conversation] = append(l.of[e.Conversation], e)
}

// request is what an endpoint got.
type request struct {
	at     time.Time
	url    string
	header http.Header
	body   []byte
}

func (r *request) id() string { return r.header.Get("webhook-id") }

// endpoints answer in the place of the network.
type endpoints struct {
	mu       sync.Mutex
	requests []request
	// answer returns the status, or an error. It may wait.
	answer func(r *request, ctx context.Context) (*http.Response, error)
}

func status(code int) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
}

func always(code int) func(*request, context.Context) (*http.Response, error) {
	return func(*request, context.Context) (*http.Response, error) { return status(code), nil }
}

func (e *endpoints) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	got := request{time.Now(), r.URL.String(), r.Header.Clone(), body}
	e.mu.Lock()
	e.requests = append(e.requests, got)
	answer := e.answer
	e.mu.Unlock()
	return answer(&got, r.Context())
}

func (e *endpoints) got(url string) (list []request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.requests {
		if strings.HasPrefix(r.url, url) {
			list = append(list, r)
		}
	}
	return list
}

func (e *endpoints) set(answer func(*request, context.Context) (*http.Response, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

// world is a database with tenants and endpoints. Processes come and go.
type world struct {
	t       *testing.T
	db      *database.DB
	people  *directory.Directory
	logs    *logs
	web     *endpoints
	seq     map[string]int64
	secrets map[string]string
}

func newWorld(t *testing.T, db *database.DB) *world {
	t.Helper()
	w := &world{
		t: t, db: db, people: directory.New(directory.Options{Database: db, Keys: plainSealer{}}), logs: &logs{of: map[string][]*event.Event{}},
		web: &endpoints{answer: always(200)}, seq: map[string]int64{}, secrets: map[string]string{},
	}
	t.Cleanup(func() { _ = w.people.Close() })
	for _, tenant := range []string{"acme", "zeta"} {
		if _, err := w.people.CreateTenant(t.Context(), operator(), directory.Tenant{ID: tenant}, ""); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func memory(t *testing.T) *world {
	t.Helper()
	db, err := database.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return newWorld(t, db)
}

func operator() directory.By { return directory.By{Operator: true} }

func of(tenant string) directory.By { return directory.By{Tenant: tenant} }

// process is one process with an outbox that is not started.
func (w *world) process() *webhooks.Outbox {
	w.t.Helper()
	sender, err := webhooks.NewSender(nil, "test")
	if err != nil {
		w.t.Fatal(err)
	}
	sender.Through(w.web)
	o := webhooks.New(webhooks.Options{Database: w.db, Directory: w.people, Journal: w.logs, Sender: sender})
	w.t.Cleanup(o.Stop)
	return o
}

// hook makes a webhook at https://TENANT.example/ID.
func (w *world) hook(tenant, id string, events ...directory.WebhookEvent) directory.Webhook {
	w.t.Helper()
	made, shown, err := w.people.CreateWebhook(w.t.Context(), of(tenant), directory.Webhook{
		Tenant: tenant, ID: id, WebhookSpec: directory.WebhookSpec{URL: "https://" + tenant + ".example/" + id, Events: events},
	}, secret.Secret{}, "")
	if err != nil {
		w.t.Fatal(err)
	}
	w.secrets[id] = shown.Reveal()
	return made
}

// ended is the end of a run in a conversation, with the next seq.
func (w *world) ended(conversation string) *event.Event {
	w.seq[conversation]++
	return &event.Event{
		Header: event.Header{
			Seq: w.seq[conversation], Conversation: conversation, Run: fmt.Sprint("run-", w.seq[conversation]), Time: time.Now(),
		},
		Body: &event.RunEnded{Status: event.RunCompleted, Stop: event.StopEndTurn, Output: []byte(`"canary"`), Partial: "canary"},
	}
}

// happen does what a driver does with an event: notes it, commits it and tells the outbox.
func (w *world) happen(o *webhooks.Outbox, tenant string, e *event.Event) {
	w.t.Helper()
	if err := o.Note(w.t.Context(), tenant, []*event.Event{e}); err != nil {
		w.t.Fatal(err)
	}
	w.logs.commit(e)
	o.Committed(tenant, e)
}

// deliveries lists what a webhook got.
func (w *world) deliveries(o *webhooks.Outbox, tenant, hook string) []webhooks.Delivery {
	w.t.Helper()
	list, _, err := o.Deliveries(w.t.Context(), tenant, hook, webhooks.Query{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}
