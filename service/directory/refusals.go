package directory

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"
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
