package service

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/braidrun/braid/event"
)

// A tenant that holds its share is refused more, another one is not, and what is given back may be held again.
func TestMemoryOfTenants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(MemoryFor(1 << 20)) // a share is 1 MiB
		send := func(tenant string, n, size int) (*Hold, error) {
			h := m.Hold(tenant)
			_, err := h.Body(t.Context(), strings.NewReader(strings.Repeat("a", n)), int64(size), 8<<20)
			if err != nil {
				h.Release()
			}
			return h, err
		}
		read := func(tenant string, n int) (*Hold, error) { return send(tenant, n, n) }
		held, err := read("acme", 900<<10)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			tenant string
			bytes  int
			size   int
			kind   event.ErrorKind
		}{
			{"acme", 500 << 10, 500 << 10, event.ErrQuota},
			{"acme", 500 << 10, -1, event.ErrQuota},
			{"acme", freeBytes, freeBytes, ""},
			{"acme", 2 << 20, 2 << 20, event.ErrTooLarge},
			{"acme", 2 << 20, -1, event.ErrQuota}, // its length is not known yet
			{"zeta", 900 << 10, 900 << 10, ""},
			{"zeta", 2 << 20, 2 << 20, event.ErrTooLarge},
			{"zeta", 2 << 20, -1, event.ErrTooLarge},
		} {
			h, err := send(c.tenant, c.bytes, c.size)
			if event.KindOf(err) != c.kind {
				t.Errorf("%s sends %d bytes and says %d: %v, want %q", c.tenant, c.bytes, c.size, err, c.kind)
			}
			h.Release()
		}
		other, err := read("zeta", 900<<10)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read("third", 900<<10); event.KindOf(err) != event.ErrUnavailable {
			t.Errorf("where all is held: %v, want unavailable", err)
		}
		// Who waits is placed as soon as there is room.
		done := make(chan error)
		go func() {
			h, err := read("acme", 900<<10)
			h.Release()
			done <- err
		}()
		synctest.Wait()
		held.Release()
		held.Release()
		if err := <-done; err != nil {
			t.Errorf("a body that waited: %v", err)
		}
		other.Release()
		if m.held != 0 || len(m.tenants) != 0 {
			t.Errorf("%d bytes are held by nobody: %v", m.held, m.tenants)
		}
	})
}

// A run waits for room, and gives up when the service drains.
func TestMemoryOfRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(MemoryFor(1 << 20))
		quit := make(chan struct{})
		give, err := m.wait(t.Context(), quit, "acme", 50<<20) // it has the whole share
		if err != nil {
			t.Fatal(err)
		}
		second, third := make(chan error), make(chan error)
		wait := func(to chan error) {
			give, err := m.wait(context.WithoutCancel(t.Context()), quit, "acme", 50<<20)
			if err == nil {
				give()
			}
			to <- err
		}
		go wait(second)
		synctest.Wait()
		free, err := m.wait(t.Context(), quit, "zeta", 50<<20)
		if err != nil {
			t.Fatalf("another tenant: %v", err)
		}
		free()
		give()
		if err := <-second; err != nil {
			t.Errorf("a run that waited: %v", err)
		}
		give, err = m.wait(t.Context(), quit, "acme", 50<<20)
		if err != nil {
			t.Fatal(err)
		}
		go wait(third)
		synctest.Wait()
		close(quit)
		if err := <-third; event.KindOf(err) != event.ErrUnavailable {
			t.Errorf("a run that waited for a service that drains: %v", err)
		}
		give()
	})
}

// A cancelled run does not wait for room: one at a time ends beyond the bound, and nothing stays counted.
func TestCancelledRunDoesNotWaitForMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory(MemoryFor(1 << 20))
		give, err := m.wait(t.Context(), nil, "acme", 50<<20)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan func(), 2)
		cancelled, cancel := context.WithCancelCause(t.Context())
		for range 2 {
			go func() {
				give, err := m.wait(cancelled, nil, "acme", 50<<20)
				if err != nil {
					t.Error(err)
				}
				ended <- give
			}()
		}
		synctest.Wait()
		if len(ended) != 0 {
			t.Fatal("a run that nobody cancelled did not wait")
		}
		cancel(&event.Error{Kind: event.ErrCancelled})
		for range 2 {
			synctest.Wait()
			if len(ended) != 1 {
				t.Fatalf("%d cancelled runs end at once, want 1", len(ended))
			}
			(<-ended)()
		}
		give()
		if m.held != 0 || m.waiting.Len() != 0 {
			t.Errorf("%d bytes are held, %d wait", m.held, m.waiting.Len())
		}

		lost, lose := context.WithCancelCause(t.Context())
		give, err = m.wait(t.Context(), nil, "acme", 50<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer give()
		lose(&event.Error{Kind: event.ErrUnavailable})
		if _, err := m.wait(lost, nil, "acme", 50<<20); event.KindOf(err) != event.ErrUnavailable {
			t.Errorf("a run whose drive is called off: %v", err)
		}
	})
}

// A reader's own error is given as it is.
func TestBodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	h := NewMemory(0).Hold("acme")
	defer h.Release()
	from := io.MultiReader(strings.NewReader("half"), &broken{})
	if _, err := h.Body(t.Context(), from, -1, 100); err != io.ErrUnexpectedEOF {
		t.Errorf("a body that breaks off: %v", err)
	}
}

type broken struct{}

func (*broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
