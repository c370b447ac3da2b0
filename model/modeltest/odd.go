package modeltest

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// oddFiles are pictures and documents as people send them: under an old name, in
// capitals, with parameters, under a wrong kind or none, inside their own address. A vendor
// takes few of these spellings, a model all; and an address that nobody fetches from the
// web, or that names a file of the server's, is refused before anything is sent.
func oddFiles(t *testing.T, p *Provider) {
	p.shows(t, told)
	encoded := base64.StdEncoding.EncodeToString(Pixel())
	odd := map[Feature][]event.Block{
		Images: {
			&event.Image{MIME: "IMAGE/PNG", Data: Pixel()}, &event.Image{MIME: "image/png; charset=binary", Data: Pixel()},
			&event.Image{MIME: "image/jpg", Data: Pixel()}, &event.Image{MIME: "application/octet-stream", Data: Pixel()},
			&event.Image{MIME: "png", Data: Pixel()},
			&event.Image{URL: "data:image/png;base64," + encoded}, &event.Image{URL: "DATA:;base64," + strings.TrimRight(encoded, "=")},
		},
		Documents: {
			&event.Document{Name: "a.pdf", MIME: "Application/PDF; q=1", Data: []byte("%PDF-1.4")},
			&event.Document{Name: "b.pdf", MIME: "application/octet-stream", Data: []byte("%PDF-1.4")},
			&event.Document{Name: "c.pdf", URL: "data:application/pdf;base64," + base64.StdEncoding.EncodeToString([]byte("%PDF-1.4"))},
			&event.Document{Name: "notes", Data: []byte("plain words")},
		},
	}
	for f, blocks := range odd {
		if !p.has(f) {
			continue
		}
		for _, b := range blocks {
			m, peer := p.Open(t, Answer{Chunks: pieces(model.ChunkText, 0, "Yes."), Stop: event.StopEndTurn, Usage: counted})
			r := Call(t.Context(), m, request(user(text("See."), b)))
			if r.Err != nil {
				t.Errorf("%+v: %v", b, r.Err)
				continue
			}
			for _, body := range bodies(t, peer) {
				for _, wrong := range []string{"image/jpg", "octet-stream", "cannot be shown"} {
					if strings.Contains(string(body), wrong) {
						t.Errorf("%+v was sent as %s", b, body)
					}
				}
			}
		}
	}
	m, peer := p.Open(t)
	for _, address := range []string{"ftp://example.com/x.png", "file:///etc/passwd", "/etc/passwd", "data:image/png;base64,?", "x.png"} {
		for _, b := range []event.Block{&event.Image{MIME: "image/png", URL: address}, &event.Document{MIME: "application/pdf", URL: address}} {
			r := Call(t.Context(), m, request(user(text("See."), b)))
			e, ok := errors.AsType[*event.Error](r.Err)
			if !ok || e.Kind != event.ErrUnsupported && e.Kind != event.ErrInvalid || e.Hint == "" {
				t.Errorf("%+v: %v", b, r.Err)
			}
		}
	}
	if n := peer.Asked(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
