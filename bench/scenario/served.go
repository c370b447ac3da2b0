package scenario

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/journal/sqlite"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/directory"
)

// Served says what a server's process serves.
type Served struct {
	// Side is one of the sides below.
	Side string `json:"side"`
	// Folder is where the SQLite journal goes, and the keys of the tenants.
	Folder string `json:"folder,omitempty"`
	// Postgres is the address of the database where a side has one; PreparePostgres has
	// made its tables.
	Postgres string `json:"postgres,omitempty"`
	// Deltas is how many pieces of text an answer has, Every the time between two of
	// them; 0 is none.
	Deltas int           `json:"deltas"`
	Every  time.Duration `json:"every,omitempty"`
	// Stall makes the model silent after its first piece, until the reader leaves.
	Stall bool `json:"stall,omitempty"`
}

// The sides of the server rows.
const (
	// SideFloor is bare net/http that writes and flushes the same frames one by one;
	// SideTogether writes all that is ready at once, which without a pace is all.
	SideFloor    = "floor"
	SideTogether = "floor, together"
	// SideServe is the built command with its defaults, in a process of its own: see
	// [Served.Command].
	SideServe = "braid serve"
	// SideSQLite is a library server on SQLite at FULL. It lacks what the command adds, such
	// as tools and the request log: it is only the base of the rows with tenants.
	SideSQLite = "braid, sqlite FULL"
	// SidePostgres is the server on PostgreSQL, as several of them share it.
	SidePostgres = "braid, postgres"
	// SideTenantsSQLite and SideTenantsPostgres are the same with all that many tenants need:
	// each reader has a key of one of [Tenants] tenants, whose agent answers with its own
	// instructions and a model of the directory.
	SideTenantsSQLite   = "tenants, sqlite FULL"
	SideTenantsPostgres = "tenants, postgres"
)

// Tenanted says that the side's readers are of tenants and have the keys in [Served.Keys].
func (s *Served) Tenanted() bool { return s.Side == SideTenantsSQLite || s.Side == SideTenantsPostgres }

// OnDisk says that the side waits for a disk.
func (s *Served) OnDisk() bool {
	return s.Side == SideSQLite || s.Side == SideServe || s.OnPostgres() || s.Tenanted()
}

// OnPostgres says that the side needs a PostgreSQL server.
func (s *Served) OnPostgres() bool { return s.Side == SidePostgres || s.Side == SideTenantsPostgres }

// ServedToken is what the server asks for.
const ServedToken = "bench-token-of-the-load"

// ServedPath is where a side answers: what the paths for runs and for streams have
// before and behind a conversation's id.
const ServedPath = "/v1/conversations"

// Handler makes the side's handler. The function closes it.
func (s *Served) Handler(ctx context.Context) (http.Handler, func() error, error) {
	switch s.Side {
	case SideFloor, SideTogether:
		return s.floor(), func() error { return nil }, nil
	case SideSQLite, SideTenantsSQLite:
		return s.onSQLite(ctx)
	case SidePostgres, SideTenantsPostgres:
		return s.onPostgres(ctx)
	default:
		return nil, nil, fmt.Errorf("there is no side %q", s.Side)
	}
}

func (s *Served) onSQLite(ctx context.Context) (http.Handler, func() error, error) {
	store, err := sqlite.Open(s.Folder, sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	db, err := database.OpenSQLite(filepath.Join(s.Folder, "service.db"))
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return s.onDatabase(ctx, store, db, store.Close)
}

// braid is the server with all that it does for each request, its log apart.
func (s *Served) braid(
	ctx context.Context, store journal.Journal, rows service.Rows, dir *directory.Directory, end func() error,
) (http.Handler, func() error, error) {
	metrics := server.NewMetrics("bench")
	model := generator{s}
	svc, err := service.New(service.Options{
		Journal: store, Rows: rows, Observe: metrics.Observe, Directory: dir, Shared: s.OnPostgres(),
		Agent: func(_ context.Context, r service.AgentRequest) (*braid.Agent, error) {
			return braid.New("assistant", model, braid.Limit(r.Limits), braid.Instructions(r.SystemPrompt)), nil
		},
	})
	if err == nil {
		err = svc.Start(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	h, err := server.New(server.Options{
		Service: svc, Directory: dir, Token: secret.New(ServedToken), Tenant: "bench", Version: "bench",
	}, metrics)
	stop := func() error {
		wait, done := context.WithTimeout(context.Background(), 10*time.Second)
		defer done()
		return errors.Join(svc.Drain(wait), end())
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return h, stop, nil
}

// words are the pieces of an answer, again and again.
var words = [...]string{"the ", "loop ", "reads ", "one ", "more ", "piece ", "of ", "text. "}

// pieces calls yield with each piece of an answer in its time.
func (s *Served) pieces(ctx context.Context, yield func(string) bool) error {
	if s.Every <= 0 {
		for i := range s.Deltas {
			if !yield(words[i%len(words)]) {
				return nil
			}
			if s.Stall {
				<-ctx.Done()
				return ctx.Err()
			}
		}
		return nil
	}
	begun := time.Now()
	timer := time.NewTimer(s.Every)
	defer timer.Stop()
	for i := range s.Deltas {
		if i > 0 {
			timer.Reset(time.Until(begun.Add(time.Duration(i+1) * s.Every)))
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !yield(words[i%len(words)]) {
			return nil
		}
	}
	return nil
}

// generator is a model that only has pieces to give.
type generator struct{ served *Served }

func (generator) Info() model.Info {
	return model.Info{Name: "bench:generator", Simulated: true}
}

// Cancellable implements [model.Cancellable], as the models of all vendors do.
func (g generator) Cancellable() braid.Model { return g }

func (g generator) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		more := true
		err := g.served.pieces(ctx, func(text string) bool {
			more = yield(model.Chunk{Kind: model.ChunkText, Text: text}, nil)
			return more
		})
		switch {
		case err != nil:
			yield(model.Chunk{}, err)
		case more:
			_ = yield(model.Chunk{Kind: model.ChunkUsage, Usage: &event.Usage{Input: 100, Output: int64(g.served.Deltas)}}, nil) &&
				yield(model.Chunk{Kind: model.ChunkStop, Stop: event.StopEndTurn}, nil)
		}
	}
}

// floor answers every path that ends in runs with the frames of a run.
func (s *Served) floor() http.Handler {
	mux := http.NewServeMux()
	begin := func(w http.ResponseWriter) *http.ResponseController {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		control := http.NewResponseController(w)
		_ = control.Flush() // who has gone is seen by the first write
		return control
	}
	mux.HandleFunc("POST "+ServedPath+"/{id}/runs", func(w http.ResponseWriter, r *http.Request) {
		control := begin(w)
		s.floorRun(r.Context(), w, control)
	})
	return mux
}

func (s *Served) floorRun(ctx context.Context, w http.ResponseWriter, control *http.ResponseController) {
	together := s.Side == SideTogether && s.Every <= 0
	var buf, text []byte
	send := func() bool {
		if together {
			return true
		}
		_, err := w.Write(buf)
		buf = buf[:0]
		return err == nil && control.Flush() == nil
	}
	buf = append(buf, "event: init\nid: 1\ndata: {\"session_id\":\"conversation.1\",\"model\":\"bench:generator\","...)
	buf = append(buf, "\"turn\":1,\"tools\":[],\"mcp_servers\":[]}\n\n"...)
	n := int64(0)
	if !send() {
		return
	}
	_ = s.pieces(ctx, func(piece string) bool { // who has gone is not waited for
		n++
		text = append(text, piece...)
		buf = append(strconv.AppendInt(append(buf, "id: 3:1."...), n, 10), "\nevent: text_delta\ndata: {\"text\":\""...)
		buf = append(append(buf, piece...), "\",\"step\":\"m1\",\"attempt\":1}\n\n"...)
		return send()
	})
	buf = append(append(buf, "id: 4\nevent: message\ndata: {\"text\":\""...), text...)
	buf = append(buf, "\",\"stop_reason\":\"end_turn\",\"model\":\"bench:generator\"}\n\n"...)
	if !send() {
		return
	}
	buf = append(append(buf, "id: 5\nevent: result\ndata: {\"result\":\""...), text...)
	buf = append(buf, "\",\"is_error\":false,\"errors\":[],\"num_turns\":1,\"stop_reason\":\"end_turn\",\"status\":\"completed\"}\n\n"...)
	if together {
		_, _ = w.Write(buf) // who has gone needs no error
		_ = control.Flush()
		return
	}
	send()
}
