package blobtest

import (
	"bytes"
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
	rapid.Check(t, func(r *rapid.T) {
		m := &model{t: r, h: h, refs: make(map[modelRef][]byte)}
		m.p = newProbe(r, m.h)
		r.Repeat(map[string]func(*rapid.T){
			"put":                 m.put,
			"link":                m.link,
			"unlink":              m.unlink,
			"remove conversation": m.removeConversation,
			"remove tenant":       m.removeTenant,
			"":                    m.check,
		})
		for ref, data := range m.refs {
			m.p.holds(ref.tenant, ref.ref, data)
		}
		for _, tenant := range []string{acme, other} {
			m.p.ok("RemoveTenant", h.Store.RemoveTenant(m.p.ctx, tenant))
			m.p.counts(tenant, 0)
		}
		m.p.pieces(0)
	})
}

// modelContents are what the model stores.
var modelContents = [][]byte{nil, content(1, 1), content(2, 700), content(3, 5000), content(4, piece+3)}

type modelRef struct {
	tenant string
	ref    blob.Ref
}

type model struct {
	t    *rapid.T
	h    Harness
	p    *probe
	refs map[modelRef][]byte
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

func (m *model) content(t *rapid.T) []byte {
	return modelContents[rapid.IntRange(0, len(modelContents)-1).Draw(t, "content")]
}

func (m *model) put(t *rapid.T) {
	r, data := m.ref(t), m.content(t)
	m.p.put(r.tenant, r.ref, data)
	m.refs[r] = data
}

func (m *model) link(t *rapid.T) {
	r, data := m.ref(t), m.content(t)
	_, err := m.h.Store.Link(m.p.ctx, r.tenant, r.ref, digestOf(data))
	if !m.has(r.tenant, data) {
		m.p.refused("Link", err, event.ErrNotFound)
		return
	}
	m.p.ok("Link", err)
	m.refs[r] = data
}

func (m *model) has(tenant string, data []byte) bool {
	for r, d := range m.refs {
		if r.tenant == tenant && bytes.Equal(d, data) {
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

// check compares all that can be asked.
func (m *model) check(*rapid.T) {
	pieces := 0
	for _, tenant := range []string{acme, other} {
		size := 0
		for _, data := range modelContents {
			if !m.has(tenant, data) {
				m.p.gone(tenant, data)
				continue
			}
			if b, err := m.h.Store.Stat(m.p.ctx, tenant, digestOf(data)); err != nil || b.Size != int64(len(data)) {
				m.t.Fatalf("Stat of %d bytes: %v, %v", len(data), b, err)
			}
			size += len(data)
			pieces += (len(data) + piece - 1) / piece
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
	for r, data := range m.refs {
		if r.tenant == tenant && r.ref.Conversation == conversation {
			want = append(want, fmt.Sprint(r.ref.Name, digestOf(data), len(data)))
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		m.t.Fatalf("the list of %s %s is %v, want %v", tenant, conversation, got, want)
	}
}
