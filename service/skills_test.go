package service_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/skillpack"
)

// failing is a store of bytes that fails when it is told to.
type failing struct {
	blob.Store

	puts, unlinks atomic.Bool
}

func (f *failing) Put(ctx context.Context, tenant string, ref blob.Ref, r io.Reader, limit int64) (blob.Blob, error) {
	if f.puts.Load() {
		return blob.Blob{}, &event.Error{Op: "put", Kind: event.ErrUnavailable, Message: "the disk is away", Hint: "try again"}
	}
	return f.Store.Put(ctx, tenant, ref, r, limit)
}

func (f *failing) Unlink(ctx context.Context, tenant string, ref blob.Ref) error {
	if f.unlinks.Load() {
		return errors.New("the disk is away")
	}
	return f.Store.Unlink(ctx, tenant, ref)
}

// journalWith is a journal with another store of bytes.
type journalWith struct {
	journal.Journal

	blobs *failing
}

func (j *journalWith) Blobs() blob.Store { return j.blobs }

// upload is a skill with this text.
func upload(t *testing.T, name, text string) *skillpack.Skill {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("SKILL.md")
	if err == nil {
		_, err = io.WriteString(w, "---\nname: "+name+"\ndescription: Does it.\n---\n"+text+"\n")
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := skillpack.FromZip(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Bytes are stored for versions only, whatever fails or dies between them and their rows.
func TestBytesOfSkillsAreNotLost(t *testing.T) {
	t.Parallel()
	ctx, by := t.Context(), directory.By{Operator: true}
	d := directory.New(directory.Options{Database: databasetest.OpenMemory(t)})
	t.Cleanup(func() { _ = d.Close() })
	if _, err := d.CreateTenant(ctx, by, directory.Tenant{ID: "acme"}, ""); err != nil {
		t.Fatal(err)
	}
	memory := &journal.Memory{}
	blobs := &failing{Store: memory.Blobs()}
	s, err := service.New(service.Options{
		Journal: &journalWith{memory, blobs}, Rows: &service.MemoryRows{}, Directory: d,
		Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) { return nil, errors.New("none") },
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(ctx context.Context, name, text string, w directory.SkillWrite) (directory.Skill, bool, error) {
		return s.PutSkill(ctx, by, "acme", upload(t, name, text), w)
	}
	places := func() int {
		t.Helper()
		list, err := blobs.List(ctx, "acme", blob.Query{Kind: skillpack.BlobKind})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	holds := func(what string, want int) {
		t.Helper()
		if n := places(); n != want {
			t.Errorf("%s: there are %d archives, want %d", what, n, want)
		}
	}
	first, stored, err := put(ctx, "pdf", "one", directory.SkillWrite{})
	if err != nil || !stored {
		t.Fatal(stored, err)
	}
	holds("a version", 1)
	if again, stored, err := put(ctx, "pdf", "one", directory.SkillWrite{}); err != nil || stored || again.Version != 1 {
		t.Errorf("the same files: %+v, %v, %v", again, stored, err)
	}
	holds("the same files", 1)
	if _, _, err := put(ctx, "pdf", "two", directory.SkillWrite{New: true}); event.KindOf(err) != event.ErrConflict {
		t.Error(err)
	}
	holds("a refused version", 1)
	blobs.puts.Store(true)
	if _, _, err := put(ctx, "pdf", "two", directory.SkillWrite{}); event.KindOf(err) != event.ErrUnavailable {
		t.Error(err)
	}
	blobs.puts.Store(false)
	holds("a store that fails", 1)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := put(gone, "pdf", "two", directory.SkillWrite{}); err == nil {
		t.Error("an upload whose caller is gone succeeds")
	}
	holds("a caller who is gone", 1)

	// A process that dies after the bytes and before the row leaves a place that a later upload gives up.
	place, err := d.ReserveSkill(ctx, by, "acme")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := skillpack.NewStore(blobs).Put(ctx, "acme", place, upload(t, "pdf", "three")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := put(ctx, "docx", "one", directory.SkillWrite{}); err != nil {
		t.Fatal(err)
	}
	holds("an upload that is under way", 3)
	if _, err := d.LooseSkills(ctx, "acme", time.Now().Add(time.Second)); err != nil { // an hour later
		t.Fatal(err)
	}
	if _, _, err := put(ctx, "docx", "two", directory.SkillWrite{}); err != nil {
		t.Fatal(err)
	}
	holds("after the sweep", 3)

	// A removal whose bytes cannot be removed is finished later.
	blobs.unlinks.Store(true)
	if err := s.DeleteSkill(ctx, by, "acme", "docx", 0); err != nil {
		t.Fatal(err)
	}
	holds("a removal that fails", 3)
	blobs.unlinks.Store(false)
	if _, _, err := put(ctx, "pdf", "one", directory.SkillWrite{}); err != nil {
		t.Fatal(err)
	}
	holds("afterwards", 1)
	archive, err := s.SkillArchive(ctx, &first)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if raw, err := io.ReadAll(archive); err != nil || !strings.Contains(string(raw), "one") {
		t.Errorf("the first version is %q, %v", raw, err)
	}
}

// The bytes of a version go with it, and those of versions that stay are there, also if two versions are equal.
func TestBytesOfOldVersionsOfASkillGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := people(t)
		h := tenants(t, d, nil)
		ctx, by := t.Context(), directory.By{Operator: true}
		var last directory.Skill
		for i := range 60 { // version 60 has the files of version 1
			s, stored, err := h.PutSkill(ctx, by, "acme", upload(t, "pdf", strconv.Itoa(i%59)), directory.SkillWrite{})
			if err != nil || !stored {
				t.Fatal(stored, err)
			}
			last = s
			time.Sleep(2 * time.Hour)
		}
		list, err := h.store.Blobs().List(ctx, "acme", blob.Query{Kind: skillpack.BlobKind})
		if err != nil || len(list) != directory.KeptSkillVersions {
			t.Errorf("there are %d archives: %v", len(list), err)
		}
		versions, _, err := d.ListSkillVersions(ctx, "acme", "pdf", directory.Query{Limit: 100})
		if err != nil || len(versions) != directory.KeptSkillVersions {
			t.Errorf("there are %d versions: %v", len(versions), err)
		}
		for i := range versions {
			of, err := d.GetSkill(ctx, "acme", "pdf", versions[i].Version)
			if err != nil {
				t.Fatal(err)
			}
			r, err := h.SkillArchive(ctx, &of)
			if err != nil {
				t.Fatalf("version %d: %v", of.Version, err)
			}
			data, err := io.ReadAll(r)
			if err := errors.Join(err, r.Close()); err != nil || int64(len(data)) != of.ArchiveBytes {
				t.Errorf("version %d has %d bytes: %v", of.Version, len(data), err)
			}
		}
		if last.Version != 60 {
			t.Errorf("the last version is %d", last.Version)
		}
	})
}
