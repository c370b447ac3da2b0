package media_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/media"
)

var (
	png  = []byte("\x89PNG\r\n\x1a\n0000")
	jpeg = []byte("\xff\xd8\xff\xe0")
	pdf  = []byte("%PDF-1.7\n")
	zip  = []byte("PK\x03\x04....")
	heic = []byte("\x00\x00\x00\x18ftypheic\x00\x00")
)

func TestKind(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"": "", "image/png": "image/png", "IMAGE/PNG": "image/png", " image/png ; q=1": "image/png", "image/jpg": "image/jpeg",
		"Image/PJPEG": "image/jpeg", "text/plain; charset=utf-8": "text/plain", "text/plain;charset=\"x;y\"": "text/plain",
		"png": "image/png", ".JPG": "image/jpeg", "pdf": "application/pdf", "application/x-pdf": "application/pdf",
		"application/octet-stream": "", "binary/octet-stream": "", "image/*": "", "*/*": "", "word": "", "image/": "", "/png": "",
		"image/png, image/jpeg": "", "image png": "", "a/b/c": "", "audio/mp3": "audio/mpeg", "application/vnd.api+json": "application/vnd.api+json",
		";base64": "", "日本/語": "",
	} {
		if got := media.Kind(said); got != want {
			t.Errorf("Kind(%q) = %q, want %q", said, got, want)
		}
	}
}

func TestNamedAndSniffed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "", "a.PNG": "image/png", "https://x/y/a.pdf?v=1.2#p.3": "application/pdf", "a.tar.gz": "", "png": "", "x.docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	} {
		if got := media.Named(name); got != want {
			t.Errorf("Named(%q) = %q, want %q", name, got, want)
		}
	}
	for data, want := range map[string]string{
		"": "", string(png): "image/png", string(jpeg): "image/jpeg", string(pdf): "application/pdf", "\r\n\x00junk" + string(pdf): "application/pdf",
		"<b>a %PDF- in a page</b>": "text/html", "see {%PDF-}": "text/plain", string(zip): "", string(heic): "image/heic", "hello": "text/plain", "\x00\x01\x02": "",
		"<?xml version='1.0'?>": "application/xml", "GIF89a...": "image/gif", "RIFF\x00\x00\x00\x00WEBPVP": "image/webp",
	} {
		if got := media.Sniffed([]byte(data)); got != want {
			t.Errorf("Sniffed(%q) = %q, want %q", data, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://x": "https", "HTTP://x": "http", " data:,x": "data", "s3://b/k": "s3", "gs://b": "gs", "/a/b": "", "a b:c": "", "": "", ":x": "", "1x:y": "",
		"file:///etc/passwd": "file",
	} {
		if got := media.Scheme(address); got != want {
			t.Errorf("Scheme(%q) = %q, want %q", address, got, want)
		}
		if got := media.Web(address); got != (want == "http" || want == "https") {
			t.Errorf("Web(%q) = %v", address, got)
		}
	}
	for address, want := range map[string]struct {
		kind, data string
		ok         bool
	}{
		"data:image/png;base64,aGk=":            {"image/png", "hi", true},
		"DATA:Image/PNG;Base64,aGk":             {"Image/PNG", "hi", true},
		"data:image/png;name=a;base64,_-8":      {"image/png;name=a", "\xff\xef", true},
		"data:;base64,aGk=":                     {"", "hi", true},
		"data:base64,aGk=":                      {"", "hi", true},
		"data:,hi%20you":                        {"", "hi you", true},
		"data:text/plain;charset=UTF-8,a,b":     {"text/plain;charset=UTF-8", "a,b", true},
		"data:image/png;base64,aG\nk =":         {"image/png", "hi", true},
		"data:image/png;base64,aGk%3D":          {"image/png", "hi", true},
		"data:image/png;base64,a":               {"image/png", "", false},
		"data:image/png;base64,%zz":             {"", "", false},
		"data:image/png;base64":                 {"", "", false},
		"https://example.com/data:image/png,hi": {"", "", false},
	} {
		kind, data, ok := media.Data(address)
		if kind != want.kind && want.ok || string(data) != want.data && want.ok || ok != want.ok {
			t.Errorf("Data(%q) = %q, %q, %v", address, kind, data, ok)
		}
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want event.Image }{
		"as it should be":         {event.Image{MIME: "image/png", Data: png}, event.Image{MIME: "image/png", Data: png}},
		"nothing said":            {event.Image{Data: png}, event.Image{MIME: "image/png", Data: png}},
		"an old name":             {event.Image{MIME: "IMAGE/JPG; q=1", Data: jpeg}, event.Image{MIME: "image/jpeg", Data: jpeg}},
		"under another kind":      {event.Image{MIME: "image/png", Data: jpeg}, event.Image{MIME: "image/jpeg", Data: jpeg}},
		"bytes that say nothing":  {event.Image{MIME: "image/png", Data: []byte{1, 2}}, event.Image{MIME: "image/png", Data: []byte{1, 2}}},
		"no kind and no bytes":    {event.Image{URL: "https://x/a.JPG?s=1"}, event.Image{MIME: "image/jpeg", URL: "https://x/a.JPG?s=1"}},
		"an address says nothing": {event.Image{URL: "https://x/a"}, event.Image{URL: "https://x/a"}},
		"in its address":          {event.Image{URL: "data:image/jpg;base64,/9j/4A=="}, event.Image{MIME: "image/jpeg", Data: jpeg}},
		"in its address, no kind": {event.Image{URL: "data:;base64,/9j/4A=="}, event.Image{MIME: "image/jpeg", Data: jpeg}},
		"a broken address":        {event.Image{URL: "data:image/png;base64,?"}, event.Image{URL: "data:image/png;base64,?"}},
		"nothing":                 {event.Image{}, event.Image{}},
		"no picture":              {event.Image{Data: pdf}, event.Image{MIME: "application/pdf", Data: pdf}},
		"a drawing":               {event.Image{MIME: "image/svg+xml", Data: []byte("<svg/>")}, event.Image{MIME: "image/svg+xml", Data: []byte("<svg/>")}},
	} {
		in := c.in
		got := media.Image(&in)
		if d := cmp.Diff(c.want, *got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(c.in, in); d != "" {
			t.Errorf("%s was changed:\n%s", name, d)
		}
		if again := media.Image(got); again != got {
			t.Errorf("%s: a second time changes it: %+v", name, again)
		}
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	docx := "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	for name, c := range map[string]struct{ in, want event.Document }{
		"nothing said":            {event.Document{Data: pdf}, event.Document{MIME: "application/pdf", Data: pdf}},
		"octets":                  {event.Document{MIME: "application/octet-stream", Data: pdf}, event.Document{MIME: "application/pdf", Data: pdf}},
		"text by its bytes":       {event.Document{Data: []byte("hello")}, event.Document{MIME: "text/plain", Data: []byte("hello")}},
		"text by its name":        {event.Document{Name: "a.CSV", Data: []byte("a,b")}, event.Document{Name: "a.CSV", MIME: "text/csv", Data: []byte("a,b")}},
		"an archive by its name":  {event.Document{Name: "a.docx", Data: zip}, event.Document{Name: "a.docx", MIME: docx, Data: zip}},
		"an archive":              {event.Document{Data: zip}, event.Document{Data: zip}},
		"a lie in the name":       {event.Document{Name: "a.docx", Data: pdf}, event.Document{Name: "a.docx", MIME: "application/pdf", Data: pdf}},
		"what was said stands":    {event.Document{MIME: "Text/Markdown; x=1", Data: []byte("# a")}, event.Document{MIME: "text/markdown", Data: []byte("# a")}},
		"text that is no picture": {event.Document{Name: "a.png", Data: []byte("hello")}, event.Document{Name: "a.png", MIME: "text/plain", Data: []byte("hello")}},
		"an address":              {event.Document{URL: "https://x/a.pdf"}, event.Document{MIME: "application/pdf", URL: "https://x/a.pdf"}},
		"in its address":          {event.Document{URL: "data:application/pdf;base64,JVBERi0xLjcK"}, event.Document{MIME: "application/pdf", Data: pdf}},
		"given as text":           {event.Document{Text: "hi"}, event.Document{Text: "hi"}},
	} {
		in := c.in
		got := media.Document(&in)
		if d := cmp.Diff(c.want, *got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if again := media.Document(got); again != got {
			t.Errorf("%s: a second time changes it: %+v", name, again)
		}
	}
}

func TestMedia(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want event.Media }{
		"by its address": {event.Media{URL: "https://x/a.mp3"}, event.Media{MIME: "audio/mpeg", URL: "https://x/a.mp3"}},
		"an old name":    {event.Media{MIME: "audio/x-wav", URL: "u"}, event.Media{MIME: "audio/wav", URL: "u"}},
		"in its address": {event.Media{URL: "data:audio/mp3;base64,aGk="}, event.Media{MIME: "audio/mpeg", URL: "data:audio/mp3;base64,aGk="}},
		"nothing":        {event.Media{}, event.Media{}},
	} {
		if d := cmp.Diff(c.want, *media.Media(&c.in)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// FuzzImage: normalizing an image twice gives the same result as once.
func FuzzImage(f *testing.F) {
	f.Add("image/jpg", "data:image/png;base64,aGk=", png)
	f.Add("", "DATA:,x", []byte{})
	f.Add("a;b", "s3://x", jpeg)
	f.Fuzz(func(t *testing.T, mime, address string, data []byte) {
		got := media.Image(&event.Image{MIME: mime, URL: address, Data: data})
		if again := media.Image(got); again.MIME != got.MIME || !bytes.Equal(again.Data, got.Data) || again.URL != got.URL {
			t.Errorf("%+v became %+v", got, again)
		}
		if got.MIME != strings.ToLower(got.MIME) || strings.ContainsAny(got.MIME, "; \"") {
			t.Errorf("the kind is %q", got.MIME)
		}
		doc := media.Document(&event.Document{MIME: mime, URL: address, Data: data})
		if again := media.Document(doc); again.MIME != doc.MIME {
			t.Errorf("%+v became %+v", doc, again)
		}
	})
}
