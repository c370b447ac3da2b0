package artifact

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

// Store keeps the artifacts of many tenants in a store of bytes. It is safe for concurrent use.
type Store struct {
	blobs blob.Store
	// saving holds a mutex for each name that is being saved.
	mu     sync.Mutex
	saving map[string]*saves
}

// saves are the callers that save one name. n is bounded by mu of the store.
type saves struct {
	sync.Mutex
	n int
}

// NewStore returns a store over a store of bytes.
func NewStore(blobs blob.Store) *Store { return &Store{blobs: blobs, saving: map[string]*saves{}} }

// Of returns the artifacts of an owner.
func (s *Store) Of(o Owner) Files { return &files{s, o} }

// lock lets one caller at a time save a name.
func (s *Store) lock(key string) (unlock func()) {
	s.mu.Lock()
	l := s.saving[key]
	if l == nil {
		l = &saves{}
		s.saving[key] = l
	}
	l.n++
	s.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		s.mu.Lock()
		if l.n--; l.n == 0 {
			delete(s.saving, key)
		}
		s.mu.Unlock()
	}
}

// files are those of an owner.
type files struct {
	*Store

	owner Owner
}

// sep separates the parts of a reference's name. No name of an artifact has it.
const sep = "\x1f"

// place returns where the references of a name are: the conversation, and how their names begin.
func (f *files) place(name string) (conversation, prefix string) {
	if strings.HasPrefix(name, UserPrefix) {
		return "", f.userPlace() + name + sep
	}
	return f.owner.Conversation, name + sep
}

// userPlace begins the names of the user's references. A user's name may have any character, so it is quoted.
func (f *files) userPlace() string { return strconv.QuoteToASCII(f.owner.User) + sep }

// refName is the name of a reference: what is known of the version beside its bytes.
func refName(prefix string, v *Version) string {
	n := strconv.Itoa(v.Version)
	n = strings.Repeat("0", 6-min(len(n), 6)) + n
	return prefix + n + sep + strconv.FormatInt(v.Created.UnixMicro(), 10) + sep + v.MIME
}

// parse reads the name of a reference behind what its place begins with.
func parse(e *blob.Entry, rest string) (v Version, ok bool) {
	parts := strings.Split(rest, sep)
	if len(parts) != 4 {
		return v, false
	}
	version, err := strconv.Atoi(parts[1])
	micro, err2 := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || err2 != nil {
		return v, false
	}
	return Version{
		Name: parts[0], Version: version, MIME: parts[3], Size: e.Blob.Size, Digest: e.Blob.Digest, Created: time.UnixMicro(micro).UTC(),
	}, true
}

// all lists the versions whose references' names begin with prefix, at most limit. skip is what comes before the artifact's
// name in them.
func (f *files) all(ctx context.Context, conversation, prefix, skip string, limit int) (list []Version, refs []blob.Ref, err error) {
	q := blob.Query{Conversation: conversation, Kind: kind, After: prefix, Limit: 256}
	for len(list) < limit {
		page, err := f.blobs.List(ctx, f.owner.Tenant, q)
		if err != nil {
			return nil, nil, err
		}
		for i := range page {
			rest, begins := strings.CutPrefix(page[i].Ref.Name, skip)
			if !begins || !strings.HasPrefix(page[i].Ref.Name, prefix) {
				if page[i].Ref.Name > prefix {
					return list, refs, nil
				}
				continue
			}
			if v, ok := parse(&page[i], rest); ok && len(list) < limit {
				list, refs = append(list, v), append(refs, page[i].Ref)
			}
		}
		if len(page) < q.Limit {
			break
		}
		q.After = page[len(page)-1].Ref.Name
	}
	return list, refs, nil
}

// ofName lists the versions of a name, the oldest first.
func (f *files) ofName(ctx context.Context, name string) (list []Version, refs []blob.Ref, err error) {
	if err := CheckName(name); err != nil {
		return nil, nil, err
	}
	conversation, prefix := f.place(name)
	return f.all(ctx, conversation, prefix, strings.TrimSuffix(prefix, name+sep), MostVersions)
}

// Save implements [Files]. Where two processes save one name at once, numbers may be left out.
func (f *files) Save(ctx context.Context, name, mime string, r io.Reader) (v Version, err error) {
	if err := CheckName(name); err != nil {
		return v, err
	}
	if err := checkMIME(mime); err != nil {
		return v, err
	}
	conversation, prefix := f.place(name)
	defer f.lock(f.owner.Tenant + sep + conversation + sep + prefix)()
	had, _, err := f.ofName(ctx, name)
	if err != nil {
		return v, err
	}
	if len(had) >= MostVersions {
		return v, tooMany("versions of this artifact", MostVersions)
	}
	if len(had) == 0 {
		if names, err := f.List(ctx); err != nil || len(names) >= MostNames {
			return v, orTooMany(err)
		}
	}
	v = Version{Name: name, MIME: mime, Created: time.Now().UTC().Truncate(time.Microsecond)}
	if n := len(had); n > 0 {
		v.Version = had[n-1].Version + 1
	}
	ref := blob.Ref{Conversation: conversation, Kind: kind, Name: refName(prefix, &v)}
	if conversation != "" {
		ref.Incarnation = f.owner.Incarnation
	}
	stored, err := f.blobs.Put(ctx, f.owner.Tenant, ref, r, MaxBytes)
	if err != nil {
		return Version{}, err
	}
	v.Size, v.Digest = stored.Size, stored.Digest
	return f.settle(ctx, v, ref, prefix)
}

// settle gives a version a number of its own. If another process has chosen the same one, the process that
// sees the other moves behind it. Both may see each other, so the distance is random.
func (f *files) settle(ctx context.Context, v Version, ref blob.Ref, prefix string) (Version, error) {
	for {
		list, refs, err := f.ofName(ctx, v.Name)
		if err != nil {
			return v, err
		}
		alone := true
		for i := range list {
			alone = alone && (list[i].Version != v.Version || refs[i].Name == ref.Name)
		}
		if alone {
			return v, nil
		}
		old := ref
		v.Version = list[len(list)-1].Version + 1 + rand.IntN(4) //nolint:gosec // nobody must be unable to guess it
		ref.Name = refName(prefix, &v)
		if _, err := f.blobs.Link(ctx, f.owner.Tenant, ref, v.Digest); err != nil {
			return v, err
		}
		if err := f.blobs.Unlink(ctx, f.owner.Tenant, old); err != nil {
			return v, err
		}
	}
}

// Load implements [Files].
func (f *files) Load(ctx context.Context, name string, version int) (Version, io.ReadCloser, error) {
	list, _, err := f.ofName(ctx, name)
	if err != nil {
		return Version{}, nil, err
	}
	i := slices.IndexFunc(list, func(v Version) bool { return v.Version == version })
	if version == Latest {
		i = len(list) - 1
	}
	if i < 0 {
		return Version{}, nil, missing()
	}
	r, err := f.blobs.Get(ctx, f.owner.Tenant, list[i].Digest, 0, -1)
	return list[i], r, err
}

// List implements [Files].
func (f *files) List(ctx context.Context) ([]Version, error) {
	const most = MostVersions * 10
	list, _, err := f.all(ctx, f.owner.Conversation, "", "", most)
	if err != nil {
		return nil, err
	}
	own, _, err := f.all(ctx, "", f.userPlace(), f.userPlace(), most)
	if err != nil {
		return nil, err
	}
	newest := []Version{}
	for _, v := range append(list, own...) {
		if n := len(newest); n > 0 && newest[n-1].Name == v.Name {
			newest[n-1] = v
			continue
		}
		newest = append(newest, v)
	}
	slices.SortStableFunc(newest, func(a, b Version) int { return strings.Compare(a.Name, b.Name) })
	return newest, nil
}

// Versions implements [Files].
func (f *files) Versions(ctx context.Context, name string) ([]Version, error) {
	list, _, err := f.ofName(ctx, name)
	if err == nil && len(list) == 0 {
		err = missing()
	}
	return list, err
}

// Delete implements [Files].
func (f *files) Delete(ctx context.Context, name string) error {
	_, refs, err := f.ofName(ctx, name)
	for i := range refs {
		if err == nil {
			err = f.blobs.Unlink(ctx, f.owner.Tenant, refs[i])
		}
	}
	return err
}

func tooMany(what string, most int) error {
	return &event.Error{
		Op: "artifact", Kind: event.ErrTooLarge, Message: "there are " + strconv.Itoa(most) + " " + what + ", the most that there may be",
		Hint: "delete some first",
	}
}

func orTooMany(err error) error {
	if err == nil {
		err = tooMany("artifacts", MostNames)
	}
	return err
}
