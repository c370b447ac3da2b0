package directory

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/service/database"
)

// Refused is a refused request, as the audit counts it.
type Refused struct {
	// By is who sent it. By.Tenant is the tenant whose audit counts it; "" means the operator's
	// own.
	By By
	// Status is the response's HTTP status.
	Status int
	// Code is the response's error code.
	Code string
	// Route is the operation, such as "GET /v1/conversations/{id}".
	Route string
	// Request is the request's id.
	Request string
	// Path is the requested path.
	Path string
}

// DefaultRefusedEvery is how often the counts of refused requests are written by default.
const DefaultRefusedEvery = 5 * time.Minute

const (
	// mostRefused bounds the kinds of refusals that one tenant's audit gets at a time. Others are counted together.
	mostRefused = 16
	// mostRefusedAll bounds the kinds of all tenants.
	mostRefusedAll = 4096
	// mostPath bounds the length of a path in an entry.
	mostPath = 200
)

// refusedKind is what refusals that are counted together have in common.
type refusedKind struct {
	tenant, key, user string
	operator          bool
	status            int
	code, route       string
}

// otherRefusals is the code of refusals that are counted together because there are too many kinds.
const otherRefusals = "others"

// refusedCount is the detail of an entry. Request and Path are those of the last refusal.
type refusedCount struct {
	Count   int64     `json:"count"`
	Status  int       `json:"status,omitempty"`
	Route   string    `json:"route,omitempty"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Request string    `json:"request_id,omitempty"`
	Path    string    `json:"path,omitempty"`
}

// refusals counts refused requests, so that a flood of them costs neither rows nor memory. The zero
// value is ready for use.
type refusals struct {
	mu     sync.Mutex
	counts map[refusedKind]*refusedCount
	kinds  map[string]int
	timer  *time.Timer
	shut   bool
	// writing is held while counts are written.
	writing sync.Mutex
}

// Refused counts a refused request. The counts are written to the audit every few minutes
// ([Options].RefusedEvery), as entries with the action request.refused, one for each kind of
// refusal. It does not query the database and is quick.
func (d *Directory) Refused(r Refused) {
	now := database.Now()
	kind := refusedKind{r.By.Tenant, r.By.Key, r.By.User, r.By.Operator, r.Status, r.Code, r.Route}
	d.refusals.add(kind, refusedCount{
		Count: 1, Status: r.Status, Route: r.Route, First: now, Last: now, Request: r.Request, Path: cutPath(r.Path),
	})
	d.writeLater()
}

// cutPath returns a path as valid text of bounded length.
func cutPath(path string) string {
	if len(path) > mostPath {
		path = path[:mostPath]
		for path != "" && !utf8.RuneStart(path[len(path)-1]) {
			path = path[:len(path)-1]
		}
	}
	return strings.ReplaceAll(strings.ToValidUTF8(path, "�"), "\x00", "�")
}

func (r *refusals) add(kind refusedKind, n refusedCount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return
	}
	if r.counts == nil {
		r.counts, r.kinds = make(map[refusedKind]*refusedCount), make(map[string]int)
	}
	if r.counts[kind] == nil && (r.kinds[kind.tenant] >= mostRefused || len(r.counts) >= mostRefusedAll) {
		kind = refusedKind{tenant: kind.tenant, code: otherRefusals}
		if r.counts[kind] == nil && len(r.counts) >= mostRefusedAll {
			kind.tenant = ""
		}
		n.Status, n.Route = 0, ""
	}
	sum := r.counts[kind]
	if sum == nil {
		r.counts[kind] = &n
		r.kinds[kind.tenant]++
		return
	}
	sum.Count += n.Count
	if n.First.Before(sum.First) {
		sum.First = n.First
	}
	if !n.Last.Before(sum.Last) {
		sum.Last, sum.Request, sum.Path = n.Last, n.Request, n.Path
	}
}

// writeLater schedules the next write.
func (d *Directory) writeLater() {
	r := &d.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut || r.timer != nil || len(r.counts) == 0 {
		return
	}
	r.timer = time.AfterFunc(d.refusedEvery, func() {
		ctx, stop := context.WithTimeout(context.Background(), refusedWrite)
		defer stop()
		_ = d.WriteRefused(ctx) // the next write tries again
	})
}

// refusedWrite bounds how long a write of the counts takes.
const refusedWrite = 30 * time.Second

// WriteRefused writes the counts of refused requests to the audits now. Counts that cannot be
// written are kept for the next time.
func (d *Directory) WriteRefused(ctx context.Context) error {
	r := &d.refusals
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	counts := r.counts
	r.counts, r.kinds = nil, nil
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	r.mu.Unlock()
	tenants := make(map[string][]refusedKind)
	for kind := range counts {
		tenants[kind.tenant] = append(tenants[kind.tenant], kind)
	}
	var failed error
	for tenant, kinds := range tenants {
		slices.SortFunc(kinds, func(a, b refusedKind) int { return counts[a].First.Compare(counts[b].First) })
		if err := d.recordRefused(ctx, tenant, kinds, counts); err != nil {
			failed = err
			for _, kind := range kinds {
				r.add(kind, *counts[kind])
			}
		}
	}
	if failed != nil {
		d.writeLater()
	}
	return failed
}

// recordRefused writes the counts of one tenant. A tenant that no longer exists, or that was
// created with the same id after the refusals, gets none.
func (d *Directory) recordRefused(ctx context.Context, tenant string, kinds []refusedKind, counts map[refusedKind]*refusedCount) error {
	const op = "audit refusals"
	return d.db.Write(ctx, op, tenant, func(tx *database.Tx) error {
		var created int64
		if tenant != "" {
			there, err := tx.Get(`SELECT created FROM tenant WHERE id = ?`, []any{tenant}, &created)
			if err != nil || !there {
				return err
			}
		}
		for _, k := range kinds {
			if database.Micros(counts[k].First) < created {
				continue
			}
			by := By{Tenant: k.tenant, Key: k.key, User: k.user, Operator: k.operator}
			if err := record(tx, tenant, by, "request.refused", "refusal/"+k.code, counts[k]); err != nil {
				return err
			}
		}
		return nil
	})
}

// closeRefusals writes the counts and stops counting.
func (d *Directory) closeRefusals() error {
	ctx, stop := context.WithTimeout(context.Background(), refusedWrite)
	defer stop()
	err := d.WriteRefused(ctx)
	r := &d.refusals
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = true
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	return err
}
