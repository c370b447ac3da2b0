package artifact_test

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/artifact"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

var ann = artifact.Owner{Tenant: "acme", User: "ann", Conversation: "c1"}

func save(t *testing.T, f artifact.Files, name, text string) artifact.Version {
	t.Helper()
	v, err := f.Save(t.Context(), name, "text/plain", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func load(t *testing.T, f artifact.Files, name string, version int) (artifact.Version, string) {
	t.Helper()
	v, r, err := f.Load(t.Context(), name, version)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return v, string(b)
}

func names(t *testing.T, f artifact.Files) (list []string) {
	t.Helper()
	all, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		list = append(list, v.Name+" "+strconv.Itoa(v.Version))
	}
	return list
}

// Versions count from 0, and each stays.
func TestVersions(t *testing.T) {
	t.Parallel()
	var j journal.Memory
	f := artifact.NewStore(j.Blobs()).Of(ann)
	for i := range 12 {
		if v := save(t, f, "a/b.txt", "text "+strconv.Itoa(i)); v.Version != i || v.MIME != "text/plain" {
			t.Errorf("%+v", v)
		}
	}
	save(t, f, "a/b.txt.2", "other")
	save(t, f, "a", "other")
	for _, i := range []int{0, 9, 11} {
		if v, text := load(t, f, "a/b.txt", i); text != "text "+strconv.Itoa(i) || v.Version != i || v.Size != int64(len(text)) || v.Created.IsZero() {
			t.Errorf("%+v %q", v, text)
		}
	}
	if v, text := load(t, f, "a/b.txt", artifact.Latest); v.Version != 11 || text != "text 11" {
		t.Errorf("%+v %q", v, text)
	}
	if diff := cmp.Diff([]string{"a 0", "a/b.txt 11", "a/b.txt.2 0"}, names(t, f)); diff != "" {
		t.Error(diff)
	}
	if list, err := f.Versions(t.Context(), "a/b.txt"); err != nil || len(list) != 12 || list[3].Version != 3 {
		t.Errorf("%+v %v", list, err)
	}
	for range 2 {
		if err := f.Delete(t.Context(), "a/b.txt"); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := f.Load(t.Context(), "a/b.txt", artifact.Latest); !errors.Is(err, event.ErrNotFound) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a 0", "a/b.txt.2 0"}, names(t, f)); diff != "" {
		t.Error(diff)
	}
	if _, err := f.Versions(t.Context(), "a/b.txt"); !errors.Is(err, event.ErrNotFound) {
		t.Error(err)
	}
}

// What a user owns is there in each of the user's conversations, and nobody else's; the rest stays with its conversation.
func TestOwners(t *testing.T) {
	t.Parallel()
	var j journal.Memory
	s := artifact.NewStore(j.Blobs())
	save(t, s.Of(ann), "user:card", "ann's")
	save(t, s.Of(ann), "note", "ann's")
	other := ann
	other.Conversation = "c2"
	if diff := cmp.Diff([]string{"user:card 0"}, names(t, s.Of(other))); diff != "" {
		t.Error(diff)
	}
	if v := save(t, s.Of(other), "user:card", "newer"); v.Version != 1 {
		t.Errorf("%+v", v)
	}
	if _, text := load(t, s.Of(ann), "user:card", artifact.Latest); text != "newer" {
		t.Error(text)
	}
	for _, o := range []artifact.Owner{
		{Tenant: "acme", User: "an", Conversation: "c3"},
		{Tenant: "acme", User: "", Conversation: "c3"},
		{Tenant: "acme", User: "ann\"\x1f", Conversation: "c3"},
		{Tenant: "bolt", User: "ann", Conversation: "c1"},
	} {
		if list := names(t, s.Of(o)); list != nil {
			t.Errorf("%+v sees %q", o, list)
		}
		if _, _, err := s.Of(o).Load(t.Context(), "user:card", 0); !errors.Is(err, event.ErrNotFound) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := j.Remove(t.Context(), "acme", "c1"); err != nil && !errors.Is(err, event.ErrNotFound) {
		t.Fatal(err)
	}
}

// Names that lead elsewhere, or that no store could keep, are refused.
func TestNames(t *testing.T) {
	t.Parallel()
	var j journal.Memory
	f := artifact.NewStore(j.Blobs()).Of(ann)
	for _, name := range []string{
		"", "user:", "..", "../a", "a/../b", "a/..", "./a", "/a", "a/", "a//b", `a\b`, "a\x00", "a\x1f", "a\nb", "\xff", "user:../a",
		strings.Repeat("a", artifact.MaxName+1),
	} {
		if _, err := f.Save(t.Context(), name, "", strings.NewReader("")); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
		if _, _, err := f.Load(t.Context(), name, 0); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
		if err := f.Delete(t.Context(), name); !errors.Is(err, event.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := f.Save(t.Context(), "a", "text/\x1fplain", strings.NewReader("")); !errors.Is(err, event.ErrInvalid) {
		t.Error(err)
	}
	if _, err := f.Save(t.Context(), "a", "", io.LimitReader(zeros{}, artifact.MaxBytes+1)); !errors.Is(err, event.ErrTooLarge) {
		t.Error(err)
	}
	for _, name := range []string{"日本.txt", "a b", "..a", "user:x/y", strings.Repeat("a", artifact.MaxName)} {
		save(t, f, name, "")
	}
	if list := names(t, f); len(list) != 5 {
		t.Errorf("%q", list)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// Of two that save one name at once none is lost, also where they do not know of each other.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	var j journal.Memory
	stores := []*artifact.Store{artifact.NewStore(j.Blobs()), artifact.NewStore(j.Blobs())}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := stores[i%2].Of(ann).Save(t.Context(), "a", "", strings.NewReader(strconv.Itoa(i)))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := stores[0].Of(ann).Versions(t.Context(), "a")
	if err != nil || len(list) != 20 {
		t.Fatalf("%d versions, %v", len(list), err)
	}
	seen := map[int]bool{}
	for _, v := range list {
		if seen[v.Version] {
			t.Errorf("there are two versions %d", v.Version)
		}
		seen[v.Version] = true
	}
}
