package blobtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// recorder is a test that can fail without failing the real one.
type recorder struct {
	ctx     context.Context
	mu      sync.Mutex
	reasons []string
	skipped bool
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reasons = append(r.reasons, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skip(...any) {
	r.mu.Lock()
	r.skipped = true
	r.mu.Unlock()
	runtime.Goexit()
}

// play runs a case on its own goroutine, so that the case can exit early. A panic is also a failure.
func play(ctx context.Context, c testCase, h Harness) *recorder {
	r := &recorder{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				r.Errorf("panic: %v", v)
			}
		}()
		c.run(newProbe(r, h))
	}()
	<-done
	return r
}

// bent is a memory journal with its blobs and a planted bug.
type bent struct {
	*blob.Memory

	journal *bentJournal
	damaged map[blob.Digest]int64

	put    func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error)
	get    func(ctx context.Context, tenant string, d blob.Digest, offset, length int64) (io.ReadCloser, error)
	stat   func(ctx context.Context, tenant string, d blob.Digest) (blob.Blob, error)
	link   func(ctx context.Context, tenant string, ref blob.Ref, d blob.Digest) (blob.Blob, error)
	list   func([]blob.Entry) []blob.Entry
	unlink func(ctx context.Context, tenant string, ref blob.Ref) error
	remove func(ctx context.Context, tenant, conversation string) error
	tenant func(ctx context.Context, tenant string) error
	// counts changes the count of bytes.
	counts func(tenant string, bytes int64) int64
	// unverified lets damaged bytes be read.
	unverified bool
}

// bentJournal is the journal that contains the blobs.
type bentJournal struct {
	*journal.Memory

	bury         func(ctx context.Context, tenant, conversation, incarnation string) error
	removal      func(ctx context.Context, tenant, conversation string) error
	removeTenant func(ctx context.Context, tenant string) error
	scrub        func(ctx context.Context) error
}

func (j *bentJournal) Tombstone(ctx context.Context, tenant, conversation, incarnation string) error {
	if j.bury != nil {
		return j.bury(ctx, tenant, conversation, incarnation)
	}
	return j.Memory.Tombstone(ctx, tenant, conversation, incarnation)
}

func (j *bentJournal) Remove(ctx context.Context, tenant, conversation string) error {
	if j.removal != nil {
		return j.removal(ctx, tenant, conversation)
	}
	return j.Memory.Remove(ctx, tenant, conversation)
}

func (j *bentJournal) RemoveTenant(ctx context.Context, tenant string) error {
	if j.removeTenant != nil {
		return j.removeTenant(ctx, tenant)
	}
	return j.Memory.RemoveTenant(ctx, tenant)
}

func (j *bentJournal) Scrub(ctx context.Context) error {
	if j.scrub != nil {
		return j.scrub(ctx)
	}
	return j.Memory.Scrub(ctx)
}

func (b *bent) Put(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
	if b.put != nil {
		return b.put(ctx, tenant, ref, r, limit)
	}
	return b.Memory.Put(ctx, tenant, ref, r, limit)
}

func (b *bent) Stat(ctx context.Context, tenant string, d blob.Digest) (blob.Blob, error) {
	if b.stat != nil {
		return b.stat(ctx, tenant, d)
	}
	return b.Memory.Stat(ctx, tenant, d)
}

func (b *bent) Link(ctx context.Context, tenant string, ref blob.Ref, d blob.Digest) (blob.Blob, error) {
	if b.link != nil {
		return b.link(ctx, tenant, ref, d)
	}
	return b.Memory.Link(ctx, tenant, ref, d)
}

func (b *bent) List(ctx context.Context, tenant string, q blob.Query) ([]blob.Entry, error) {
	list, err := b.Memory.List(ctx, tenant, q)
	if b.list != nil && err == nil {
		list = b.list(list)
	}
	return list, err
}

func (b *bent) Unlink(ctx context.Context, tenant string, ref blob.Ref) error {
	if b.unlink != nil {
		return b.unlink(ctx, tenant, ref)
	}
	return b.Memory.Unlink(ctx, tenant, ref)
}

func (b *bent) RemoveConversation(ctx context.Context, tenant, conversation string) error {
	if b.remove != nil {
		return b.remove(ctx, tenant, conversation)
	}
	return b.Memory.RemoveConversation(ctx, tenant, conversation)
}

func (b *bent) RemoveTenant(ctx context.Context, tenant string) error {
	if b.tenant != nil {
		return b.tenant(ctx, tenant)
	}
	return b.Memory.RemoveTenant(ctx, tenant)
}

// Get reads bytes changed by Damage as a store with damaged pieces does.
func (b *bent) Get(ctx context.Context, tenant string, d blob.Digest, offset, length int64) (io.ReadCloser, error) {
	at, damaged := b.damaged[d]
	if b.get != nil {
		return b.get(ctx, tenant, d, offset, length)
	}
	if !damaged {
		return b.Memory.Get(ctx, tenant, d, offset, length)
	}
	found, err := b.Memory.Stat(ctx, tenant, d)
	if err != nil {
		return nil, err
	}
	fetch := func(from int64) (blob.Piece, error) {
		first := from / piece * piece
		r, err := b.Memory.Get(ctx, tenant, d, first, piece)
		if err != nil {
			return blob.Piece{}, err
		}
		data, err := io.ReadAll(r)
		p := blob.Piece{First: first, Data: data, Sum: blob.SumOf(0, first, data)}
		if at >= first && at < first+int64(len(data)) {
			data[at-first] ^= 1
			if b.unverified {
				p.Sum = blob.SumOf(0, first, data)
			}
		}
		return p, err
	}
	return blob.NewReader("bent get", found, offset, length, fetch)
}

// harness opens a store with the bug of plant; nil means none.
func harness(plant func(b *bent)) Harness {
	m := &journal.Memory{}
	store := m.Blobs().(*blob.Memory) //nolint:forcetypeassert // always this type
	b := &bent{Memory: store, journal: &bentJournal{Memory: m}, damaged: map[blob.Digest]int64{}}
	if plant != nil {
		plant(b)
	}
	return Harness{
		Store: b, Journal: b.journal,
		Bytes: func(tenant string) int64 {
			n, err := m.StoredBytes(context.Background(), tenant)
			if err != nil {
				return -1
			}
			if b.counts != nil {
				n = b.counts(tenant, n)
			}
			return n
		},
		Damage: func(_ string, d blob.Digest, offset int64) { b.damaged[d] = offset },
	}
}

func TestTheSuitePassesASoundStore(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		r := play(t.Context(), c, harness(nil))
		if len(r.reasons) > 0 {
			t.Errorf("%s: %s", c.name, r.reasons[0])
		}
		if keeps := c.name == "what was put is there after a crash, and nothing else"; r.skipped != keeps {
			t.Errorf("%s: skipped is %v", c.name, r.skipped)
		}
	}
}

// A store that keeps nothing, and one that keeps half of an interrupted Put, fail the case about crashes.
func TestTheCaseAboutCrashes(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(cases(), func(c testCase) bool { return c.name == "what was put is there after a crash, and nothing else" })
	c := cases()[i]
	for name, want := range map[string]bool{"sound": true, "forgets": false, "takes bytes when it is closed": false} {
		h := harness(nil)
		closed := &shut{Store: h.Store, deaf: name == "takes bytes when it is closed"}
		sound := h.Store
		h.Store = closed
		h.Reopen = func() blob.Store {
			closed.over = true
			if name == "forgets" {
				return &blob.Memory{}
			}
			return sound
		}
		if r := play(t.Context(), c, h); (len(r.reasons) == 0) != want || r.skipped {
			t.Errorf("a store that is %s: %v", name, r.reasons)
		}
	}
}

// shut is a store that can be closed, optionally one that ignores it.
type shut struct {
	blob.Store

	over, deaf bool
}

func (s *shut) Put(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
	data, err := io.ReadAll(r)
	if s.over && !s.deaf {
		return blob.Blob{}, &event.Error{Kind: event.ErrUnavailable, Message: "closed"}
	}
	if err != nil {
		return blob.Blob{}, err
	}
	return s.Store.Put(ctx, tenant, ref, bytes.NewReader(data), limit)
}

// TestTheSuiteCatchesPlantedBugs checks that each bug fails the case about it, and that each case can fail.
func TestTheSuiteCatchesPlantedBugs(t *testing.T) {
	t.Parallel()
	caught := map[string]bool{"what was put is there after a crash, and nothing else": true} // TestTheCaseAboutCrashes
	for _, m := range mutants() {
		i := slices.IndexFunc(cases(), func(c testCase) bool { return c.name == m.catcher })
		if i < 0 {
			t.Errorf("there is no case %q", m.catcher)
			continue
		}
		var r *recorder
		for tries := 10; tries > 0 && (r == nil || len(r.reasons) == 0); tries-- { // a race does not show every time
			r = play(t.Context(), cases()[i], harness(m.plant))
		}
		if len(r.reasons) == 0 {
			t.Errorf("%s: %q does not see it", m.name, m.catcher)
		}
		caught[m.catcher] = true
	}
	for _, c := range cases() {
		if !caught[c.name] {
			t.Errorf("no planted bug fails %q: can it fail?", c.name)
		}
	}
}

type mutant struct {
	name, catcher string
	plant         func(b *bent)
}

// garbled changes the bytes of a source.
type garbled struct{ io.Reader }

func (g garbled) Read(b []byte) (int, error) {
	n, err := g.Reader.Read(b)
	if n > 0 {
		b[n-1] ^= 1
	}
	return n, err
}

func mutants() []mutant { //nolint:maintidx // a list
	return slices.Concat(putMutants(), readMutants(), refMutants(), cutMutants(), journalMutants())
}

func putMutants() []mutant {
	return []mutant{
		{"bytes are stored wrongly", "what is put is read", func(b *bent) {
			b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
				return b.Memory.Put(ctx, tenant, ref, garbled{r}, limit)
			}
		}},
		{"a source is read once", "a source may return little at a time", func(b *bent) {
			b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
				data := make([]byte, piece)
				n, _ := r.Read(data)
				return b.Memory.Put(ctx, tenant, ref, bytes.NewReader(data[:n]), limit)
			}
		}},
		{"the same bytes are counted twice", "the same bytes are stored once", func(b *bent) {
			puts := int64(0)
			b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
				stored, err := b.Memory.Put(ctx, tenant, ref, r, limit)
				puts += stored.Size
				return stored, err
			}
			b.counts = func(string, int64) int64 { return puts }
		}},
		{"the first reference that goes takes the bytes", "no bytes are a blob as well", func(b *bent) {
			b.unlink = func(ctx context.Context, tenant string, _ blob.Ref) error {
				return b.Memory.RemoveTenant(ctx, tenant)
			}
		}},
		{"a limit is one byte more", "a limit is the most that is stored", func(b *bent) {
			b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
				if limit > 0 {
					limit++
				}
				return b.Memory.Put(ctx, tenant, ref, r, limit)
			}
		}},
		{"a limit is one byte less", "a limit is the most that is stored", func(b *bent) {
			b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
				if limit > 1 {
					limit--
				}
				return b.Memory.Put(ctx, tenant, ref, r, limit)
			}
		}},
		{"a zero character is cut off", "names that no store takes", func(b *bent) {
			b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
				name, _, _ := bytes.Cut([]byte(ref.Name), []byte{0})
				ref.Name = string(name)
				return b.Memory.Put(ctx, tenant, ref, r, limit)
			}
		}},
		{"nobody looks at the context", "a context that is done", func(b *bent) {
			b.unlink = func(ctx context.Context, tenant string, ref blob.Ref) error {
				return b.Memory.Unlink(context.WithoutCancel(ctx), tenant, ref)
			}
		}},
	}
}

// plain reads without verification, and passes the bytes through a bug.
func (b *bent) plain(bug func(data []byte, offset, length int64) io.Reader) {
	b.get = func(ctx context.Context, tenant string, d blob.Digest, offset, length int64) (io.ReadCloser, error) {
		if offset < 0 {
			return b.Memory.Get(ctx, tenant, d, offset, length)
		}
		r, err := b.Memory.Get(ctx, tenant, d, 0, -1)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		return io.NopCloser(bug(data, offset, length)), err
	}
}

func readMutants() []mutant {
	sliced := func(data []byte, offset, length int64) []byte {
		data = data[min(offset, int64(len(data))):]
		if length >= 0 {
			data = data[:min(length, int64(len(data)))]
		}
		return data
	}
	return []mutant{
		{"a range ends with its piece", "ranges", func(b *bent) {
			b.plain(func(data []byte, offset, length int64) io.Reader {
				end := (offset/piece + 1) * piece
				return bytes.NewReader(sliced(data[:min(end, int64(len(data)))], offset, length))
			})
		}},
		{"a reader has read all beforehand", "what is removed while it is read", func(b *bent) {
			b.plain(func(data []byte, offset, length int64) io.Reader {
				return bytes.NewReader(sliced(data, offset, length))
			})
		}},
		{"a reader does not know that it is closed", "a reader that is closed, or whose context ends", func(b *bent) {
			b.plain(func(data []byte, offset, length int64) io.Reader {
				return bytes.NewReader(sliced(data, offset, length))
			})
		}},
		{"readers run out", "a reader holds nothing in the store", func(b *bent) {
			open := 0
			b.get = func(ctx context.Context, tenant string, d blob.Digest, offset, length int64) (io.ReadCloser, error) {
				if open++; open > 4 {
					return nil, &event.Error{Kind: event.ErrTimeout, Message: "no connection"}
				}
				return b.Memory.Get(ctx, tenant, d, offset, length)
			}
		}},
		{"damaged bytes are read", "damage is an error and never bytes", func(b *bent) { b.unverified = true }},
	}
}

func refMutants() []mutant {
	return []mutant{
		{"what a reference named stays", "a reference that is put anew takes its old bytes along", func(b *bent) {
			n := 0
			b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
				if old, err := b.Lookup(ctx, tenant, ref); err == nil {
					n++
					_, _ = b.Memory.Link(ctx, tenant, blob.Ref{Kind: "kept", Name: fmt.Sprint(n)}, old.Digest)
				}
				return b.Memory.Put(ctx, tenant, ref, r, limit)
			}
		}},
		{"a link does not keep bytes", "a link keeps bytes", func(b *bent) {
			b.link = func(ctx context.Context, tenant string, _ blob.Ref, d blob.Digest) (blob.Blob, error) {
				return b.Memory.Stat(ctx, tenant, d)
			}
		}},
		{"a reference that is not there is an error", "removing what is not there", func(b *bent) {
			b.unlink = func(ctx context.Context, tenant string, ref blob.Ref) error {
				_, err := b.Lookup(ctx, tenant, ref)
				return cmp.Or(err, b.Memory.Unlink(ctx, tenant, ref))
			}
		}},
		{"a digest is anybody's", "tenants are apart", func(b *bent) {
			b.stat = func(ctx context.Context, tenant string, d blob.Digest) (blob.Blob, error) {
				found, err := b.Memory.Stat(ctx, tenant, d)
				if err != nil {
					found, err = b.Memory.Stat(ctx, acme, d)
				}
				return found, err
			}
		}},
		{"a tenant is not removed", "tenants are apart", func(b *bent) {
			b.tenant = func(context.Context, string) error { return nil }
		}},
		{"a list has no order", "lists", func(b *bent) {
			b.list = func(l []blob.Entry) []blob.Entry { slices.Reverse(l); return l }
		}},
		{"a conversation keeps its references", "a conversation takes its references along", func(b *bent) {
			b.remove = func(context.Context, string, string) error { return nil }
		}},
		{"a conversation takes those of its tenant along", "a conversation takes its references along", func(b *bent) {
			b.remove = func(ctx context.Context, tenant, _ string) error { return b.Memory.RemoveTenant(ctx, tenant) }
		}},
	}
}

// halves is a Put that keeps what it has stored when its source fails.
func halves(b *bent) {
	b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
		data, err := io.ReadAll(r)
		stored, failed := b.Memory.Put(context.WithoutCancel(ctx), tenant, ref, bytes.NewReader(data), limit)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			kind := event.ErrStreamCut
			if ctx.Err() != nil {
				kind = event.ErrCancelled
			}
			return blob.Blob{}, &event.Error{Kind: kind, Message: "cut", Err: err}
		}
		return stored, failed
	}
}

func cutMutants() []mutant {
	return []mutant{
		{"half of a source is stored", "a source that is cut leaves nothing", halves},
		{"half is stored for a caller who gives up", "a caller who gives up leaves nothing", halves},
		{"the first piece can be reached", "bytes cannot be reached before the last one is there", func(b *bent) {
			b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
				data, err := io.ReadAll(io.LimitReader(r, 2*piece))
				if err == nil && len(data) == 2*piece {
					if _, err := b.Memory.Put(ctx, tenant, ref, bytes.NewReader(data), limit); err != nil {
						return blob.Blob{}, err
					}
				}
				return b.Memory.Put(ctx, tenant, ref, io.MultiReader(bytes.NewReader(data), r), limit)
			}
		}},
		{"a removed tenant gets a blob with a hole", "the tenant is removed meanwhile", func(b *bent) {
			b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
				data, err := io.ReadAll(r)
				if err != nil {
					return blob.Blob{}, err
				}
				return b.Memory.Put(ctx, tenant, ref, bytes.NewReader(data[2*piece:]), limit)
			}
		}},
		{"two writers at once store twice", "many put the same bytes at once", func(b *bent) {
			b.counts = func(_ string, n int64) int64 { return 2 * n }
		}},
		{"an unlink takes a new reference along", "the same bytes come and go at once", func(b *bent) {
			b.unlink = func(ctx context.Context, tenant string, _ blob.Ref) error {
				runtime.Gosched()
				return b.Memory.RemoveTenant(ctx, tenant)
			}
		}},
		{"a lost race leaves bytes", "one reference is put by many at once", func(b *bent) {
			var mu sync.Mutex
			n := 0
			b.put = func(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
				mu.Lock()
				defer mu.Unlock()
				n++
				stored, err := b.Memory.Put(ctx, tenant, ref, r, limit)
				if n%7 == 0 && err == nil {
					_, err = b.Memory.Link(ctx, tenant, blob.Ref{Kind: "kept", Name: fmt.Sprint(n)}, stored.Digest)
				}
				return stored, err
			}
		}},
	}
}

func journalMutants() []mutant {
	return []mutant{
		{"blobs are not counted", "a journal counts blobs, and a removed conversation takes them along", func(b *bent) {
			b.counts = func(tenant string, n int64) int64 { return n - b.Bytes(tenant) }
		}},
		{"a removed conversation keeps its blobs", "a journal counts blobs, and a removed conversation takes them along", func(b *bent) {
			b.journal.removal = func(ctx context.Context, tenant, conversation string) error {
				keep(ctx, b.Memory, tenant)
				return b.journal.Memory.Remove(ctx, tenant, conversation)
			}
		}},
		{"a buried conversation takes references", "a buried conversation takes no more references", func(b *bent) { b.Guard = nil }},
		{"blobs go only with a conversation that has runs", "a conversation without a run is buried with its blobs", func(b *bent) {
			b.journal.bury = func(ctx context.Context, tenant, conversation, incarnation string) error {
				keep(ctx, b.Memory, tenant)
				return b.journal.Memory.Tombstone(ctx, tenant, conversation, incarnation)
			}
		}},
		{"a removed tenant keeps its blobs", "a removed tenant takes its blobs along", func(b *bent) {
			b.journal.removeTenant = func(ctx context.Context, tenant string) error {
				all, _ := b.Memory.List(ctx, tenant, blob.Query{Conversation: "talk", Kind: "file"})
				err := b.journal.Memory.RemoveTenant(ctx, tenant)
				if err == nil && len(all) > 0 {
					_, err = b.Memory.Put(ctx, tenant, all[0].Ref, bytes.NewReader(content(1, piece+1)), 0)
				}
				return err
			}
		}},
		{"a scrub takes what is stored", "scrubbing a journal sweeps", func(b *bent) {
			b.journal.scrub = func(ctx context.Context) error { return cmp.Or(ctx.Err(), b.Memory.RemoveTenant(ctx, acme)) }
		}},
	}
}

// keep links the file "a" to another reference.
func keep(ctx context.Context, m *blob.Memory, tenant string) {
	if found, err := m.Lookup(ctx, tenant, file("a")); err == nil {
		_, _ = m.Link(ctx, tenant, blob.Ref{Kind: "kept", Name: "a"}, found.Digest)
	}
}
