package blobtest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/blob"
	"github.com/braidrun/braid/event"
)

// Model compares a store with a map over generated calls. The store is empty again after each round.
func Model(t *testing.T, h Harness) {
	t.Helper()
	all := modelContents()
	rapid.Check(t, func(r *rapid.T) {
		m := &model{t: r, h: h, all: all, refs: make(map[modelRef]*modelContent)}
		m.p = newProbe(r, m.h)
		r.Repeat(map[string]func(*rapid.T){
			"put":                 m.put,
			"link":                m.link,
			"unlink":              m.unlink,
			"remove conversation": m.removeConversation,
			"remove tenant":       m.removeTenant,
			"":                    m.check,
		})
		for ref, c := range m.refs {
			m.p.holds(ref.tenant, ref.ref, c.data)
		}
		for _, tenant := range []string{acme, other} {
			m.p.ok("RemoveTenant", h.Store.RemoveTenant(m.p.ctx, tenant))
			m.p.counts(tenant, 0)
		}
		m.p.pieces(0)
	})
}

// modelContent is a blob's content. Its hash is computed once, because the model reads everything after each step.
type modelContent struct {
	data   []byte
	digest blob.Digest
}

// modelContents returns the contents that the model stores.
func modelContents() (out []*modelContent) {
	for _, data := range [][]byte{nil, content(1, 1), content(2, 700), content(3, 5000), content(4, piece+3)} {
		out = append(out, &modelContent{data, digestOf(data)})
	}
	return out
}

type modelRef struct {
	tenant string
	ref    blob.Ref
}

type model struct {
	t *rapid.T
	h Harness
	p *probe
	// all are the contents that may be stored, refs the content of each reference.
	all  []*modelContent
	refs map[modelRef]*modelContent
}

func (m *model) ref(t *rapid.T) modelRef {
	return modelRef{
		rapid.SampledFrom([]string{acme, other}).Draw(t, "tenant"),
		blob.Ref{
			Conversation: rapid.SampledFrom([]string{"", "talk", "fork"}).Draw(t, "conversation"), Kind: "file",
			Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"),
		},
	}
}

func (m *model) content(t *rapid.T) *modelContent {
	return m.all[rapid.IntRange(0, len(m.all)-1).Draw(t, "content")]
}

func (m *model) put(t *rapid.T) {
	r, c := m.ref(t), m.content(t)
	m.p.put(r.tenant, r.ref, c.data)
	m.refs[r] = c
}

func (m *model) link(t *rapid.T) {
	r, c := m.ref(t), m.content(t)
	_, err := m.h.Store.Link(m.p.ctx, r.tenant, r.ref, c.digest)
	if !m.has(r.tenant, c) {
		m.p.refused("Link", err, event.ErrNotFound)
		return
	}
	m.p.ok("Link", err)
	m.refs[r] = c
}

func (m *model) has(tenant string, c *modelContent) bool {
	for r, held := range m.refs {
		if r.tenant == tenant && held == c {
			return true
		}
	}
	return false
}

func (m *model) unlink(t *rapid.T) {
	r := m.ref(t)
	m.p.ok("Unlink", m.h.Store.Unlink(m.p.ctx, r.tenant, r.ref))
	delete(m.refs, r)
}

func (m *model) removeConversation(t *rapid.T) {
	gone := m.ref(t)
	gone.ref.Conversation = "talk"
	m.p.ok("RemoveConversation", m.h.Store.RemoveConversation(m.p.ctx, gone.tenant, "talk"))
	for r := range m.refs {
		if r.tenant == gone.tenant && r.ref.Conversation == "talk" {
			delete(m.refs, r)
		}
	}
}

func (m *model) removeTenant(t *rapid.T) {
	gone := m.ref(t).tenant
	m.p.ok("RemoveTenant", m.h.Store.RemoveTenant(m.p.ctx, gone))
	for r := range m.refs {
		if r.tenant == gone {
			delete(m.refs, r)
		}
	}
}

// check compares the results of all reading calls.
func (m *model) check(*rapid.T) {
	pieces := 0
	for _, tenant := range []string{acme, other} {
		size := 0
		for _, c := range m.all {
			if !m.has(tenant, c) {
				m.p.goneOf(tenant, c.digest)
				continue
			}
			if b, err := m.h.Store.Stat(m.p.ctx, tenant, c.digest); err != nil || b.Size != int64(len(c.data)) {
				m.t.Fatalf("Stat of %d bytes: %v, %v", len(c.data), b, err)
			}
			size += len(c.data)
			pieces += (len(c.data) + piece - 1) / piece
		}
		m.p.counts(tenant, size)
		for _, conversation := range []string{"", "talk", "fork"} {
			m.checkList(tenant, conversation)
		}
	}
	m.p.pieces(pieces)
}

func (m *model) checkList(tenant, conversation string) {
	list, err := m.h.Store.List(m.p.ctx, tenant, blob.Query{Conversation: conversation, Kind: "file"})
	m.p.ok("List", err)
	var got, want []string
	for _, e := range list {
		got = append(got, fmt.Sprint(e.Ref.Name, e.Blob.Digest, e.Blob.Size))
	}
	for r, c := range m.refs {
		if r.tenant == tenant && r.ref.Conversation == conversation {
			want = append(want, fmt.Sprint(r.ref.Name, c.digest, len(c.data)))
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		m.t.Fatalf("the list of %s %s is %v, want %v", tenant, conversation, got, want)
	}
}
