package sqlite_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/journal/journaltest"
	"github.com/braidrun/braid/journal/sqlite"
)

// No statement reads a whole table or all rows of a tenant, so no call gets slower with more conversations.
// SQLite plans by its indexes and does not count rows, so the plan on an empty file is the plan on a full
// one.
func TestStatementsFindTheirRows(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), sqlite.Options{})
	for _, c := range journaltest.Calls() {
		for n := range 2 {
			if err := c.Do(t.Context(), s, "talk", n); err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
		}
	}
	blobCalls(t, s)
	statements, err := s.Statements()
	if err != nil {
		t.Fatal(err)
	}
	if len(statements) < 40 {
		t.Errorf("only %d statements were made", len(statements))
	}
	for _, text := range statements {
		lines, err := s.Plan(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if why := grows(text, lines); why != "" {
			t.Errorf("%s %s:\n\t%s", text, why, strings.Join(lines, "\n\t"))
		}
	}
}

// blobCalls makes every call of blobs once.
func blobCalls(t *testing.T, s *sqlite.Store) {
	t.Helper()
	ctx, b := t.Context(), s.Blobs()
	for _, tenant := range []string{"acme", "gone"} {
		ref := blob.Ref{Conversation: "files", Incarnation: "one", Kind: "file", Name: "a"}
		stored, err := b.Put(ctx, tenant, ref, strings.NewReader("hello"), 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.Get(ctx, tenant, stored.Digest, 0, -1)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		_, failed := b.Put(ctx, tenant, ref, iotest.ErrReader(io.ErrUnexpectedEOF), 0)
		if failed == nil {
			t.Error("a source that fails is stored")
		}
		ref.Name = "b"
		_, linked := b.Link(ctx, tenant, ref, stored.Digest)
		_, found := b.Lookup(ctx, tenant, ref)
		_, listed := b.List(ctx, tenant, blob.Query{Conversation: "files", Kind: "file"})
		err = errors.Join(err, linked, found, listed, b.Unlink(ctx, tenant, ref), b.RemoveConversation(ctx, tenant, "files"), b.RemoveTenant(ctx, "gone"), b.Sweep(ctx))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// grows returns the part of a plan whose reads grow with the conversations; empty if there is none.
func grows(text string, lines []string) string {
	sorts := slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "USE TEMP B-TREE") })
	page := strings.Contains(text, "LIMIT") && !sorts && !strings.Contains(text, "conversation =") && !strings.Contains(text, "run =")
	for _, line := range lines {
		what, scans := strings.CutPrefix(line, "SCAN ")
		what, _, _ = strings.Cut(what, " ")
		switch {
		case scans && what != "json_each" && !slices.Contains(lines, "CO-ROUTINE "+what):
			return "reads a whole table"
		case strings.HasSuffix(line, "(tenant=?)") && !page && !strings.HasPrefix(text, "DELETE"):
			return "reads all that a tenant has"
		}
	}
	return ""
}
