package attachment_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/attachment"
	"github.com/braidrun/braid/event"
)

// picture encodes an image with a colour.
func picture(t *testing.T, kind string) []byte {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black, color.White})
	var out bytes.Buffer
	var err error
	switch kind {
	case "png":
		err = png.Encode(&out, img)
	case "jpeg":
		err = jpeg.Encode(&out, img, nil)
	case "gif":
		err = gif.Encode(&out, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// webp is a lossless image of one pixel.
func webp(t *testing.T) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const (
	pdf  = "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
	docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
)

func TestFilesBecomeBlocks(t *testing.T) {
	t.Parallel()
	image := func(kind string) func(event.Block) bool {
		return func(b event.Block) bool { i, ok := b.(*event.Image); return ok && i.MIME == kind && len(i.Data) > 0 }
	}
	document := func(kind string, text bool) func(event.Block) bool {
		return func(b event.Block) bool {
			d, ok := b.(*event.Document)
			return ok && d.MIME == kind && (d.Text != "") == text && (len(d.Data) > 0) != text
		}
	}
	for name, c := range map[string]struct {
		name, declared string
		data           []byte
		want           func(event.Block) bool
	}{
		"png by its bytes":          {"", "", picture(t, "png"), image("image/png")},
		"jpeg under an old name":    {"a.jpg", "image/jpg", picture(t, "jpeg"), image("image/jpeg")},
		"gif":                       {"a.gif", "image/gif; q=1", picture(t, "gif"), image("image/gif")},
		"webp":                      {"a.webp", "application/octet-stream", webp(t), image("image/webp")},
		"a wrong ending":            {"a.png", "", picture(t, "jpeg"), image("image/jpeg")},
		"pdf":                       {"a.pdf", "application/pdf", []byte(pdf), document("application/pdf", false)},
		"pdf without a name":        {"", "", []byte(pdf), document("application/pdf", false)},
		"text":                      {"a.txt", "", []byte("hello"), document("text/plain", true)},
		"text in Japanese":          {"メモ.md", "", []byte("# 東京"), document("text/markdown", true)},
		"csv by its name":           {"a.csv", "", []byte("a,b\n1,2\n"), document("text/csv", true)},
		"json":                      {"", "application/json", []byte(`{"a":1}`), document("application/json", true)},
		"a program":                 {"a.go", "", []byte("package main\n"), document("text/plain", true)},
		"a page declared as a text": {"", "text/plain", []byte("<html></html>"), document("text/plain", true)},
		"svg is text":               {"a.svg", "", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), document("image/svg+xml", true)},
		"word":                      {"a.docx", "", []byte("PK\x03\x04rest"), document(docx, false)},
		"word as declared":          {"", docx, []byte("PK\x03\x04rest"), document(docx, false)},
		"an old sheet":              {"a.xls", "", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest"), document("application/vnd.ms-excel", false)},
		"rich text":                 {"a.rtf", "", []byte(`{\rtf1 hello}`), document("application/rtf", false)},
		"rich text to be read":      {"a.txt", "text/plain", []byte(`{\rtf1 hello}`), document("text/plain", true)},
		"a mark of the byte order":  {"a.txt", "", []byte("\xef\xbb\xbfhello"), document("text/plain", true)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := attachment.New(c.name, c.declared, c.data)
			if err != nil || !c.want(b) {
				t.Fatalf("got %#v, %v", b, err)
			}
			if d, ok := b.(*event.Document); ok && strings.HasPrefix(d.Text, "\ufeff") {
				t.Error("the text begins with a mark of the byte order")
			}
			again, err := attachment.Check(c.name, b)
			if err != nil || again.BlockKind() != b.BlockKind() {
				t.Errorf("a checked block is refused: %v", err)
			}
		})
	}
}

func TestFilesAreRefused(t *testing.T) {
	t.Parallel()
	big := func(head string, n int) []byte { return append([]byte(head), bytes.Repeat([]byte(" "), n)...) }
	for name, c := range map[string]struct {
		name, declared string
		data           []byte
		kind           event.ErrorKind
		code, words    string
	}{
		"nothing":                  {"a.png", "", nil, event.ErrInvalid, attachment.Invalid, `the attachment "a.png" is empty`},
		"jpeg declared as png":     {"a.png", "image/png", picture(t, "jpeg"), event.ErrInvalid, attachment.Invalid, `is declared as image/png, and its bytes are image/jpeg`},
		"text declared as pdf":     {"a.pdf", "application/pdf", []byte("hello"), event.ErrInvalid, attachment.Invalid, `its bytes are text/plain`},
		"text declared as png":     {"", "image/png", []byte("hello"), event.ErrInvalid, attachment.Invalid, `the attachment is declared as image/png`},
		"bytes declared as png":    {"", "image/png", []byte("\x00\x01\x02"), event.ErrInvalid, attachment.Invalid, `and its bytes are not`},
		"pdf declared as text":     {"a.txt", "text/plain", []byte(pdf), event.ErrInvalid, attachment.Invalid, `its bytes are application/pdf`},
		"half a png":               {"a.png", "", picture(t, "png")[:20], event.ErrInvalid, attachment.Invalid, `is a damaged image`},
		"not UTF-8":                {"a.txt", "text/plain", []byte("caf\xe9"), event.ErrInvalid, attachment.Invalid, `is not UTF-8 text`},
		"text named as png":        {"a.png", "", []byte("hello"), event.ErrInvalid, attachment.Invalid, `is declared as image/png`},
		"UTF-16":                   {"a.csv", "", []byte("\xff\xfea\x00,\x00"), event.ErrInvalid, attachment.Invalid, `is not UTF-8 text`},
		"a program":                {"a.exe", "", []byte("MZ\x90\x00\x03\x00\xff\xff"), event.ErrUnsupported, attachment.Unreadable, `is of a type that no model reads`},
		"an archive":               {"a.zip", "", []byte("PK\x03\x04rest"), event.ErrUnsupported, attachment.Unreadable, `is an archive`},
		"an archive as a document": {"a.docx", "application/zip", []byte("PK\x03\x04rest"), event.ErrInvalid, attachment.Invalid, `is declared as application/zip`},
		"sound":                    {"a.mp3", "audio/mpeg", []byte("ID3\x03\x00\x00\x00\x00\x00\x00"), event.ErrUnsupported, attachment.Unreadable, `by reference only`},
		"a large image":            {"a.webp", "", append(webp(t), make([]byte, attachment.MaxImage)...), event.ErrTooLarge, attachment.TooLarge, `more than 10 MiB`},
		"a large text":             {"a.txt", "", big("x", attachment.MaxText), event.ErrTooLarge, attachment.TooLarge, `more than 4 MiB`},
		"a large document":         {"a.pdf", "", big(pdf, attachment.MaxDocument), event.ErrTooLarge, attachment.TooLarge, `more than 32 MiB`},
		"a long name":              {strings.Repeat("n", 201), "", []byte("x"), event.ErrInvalid, attachment.Invalid, `more than 200 bytes`},
		"a name of two lines":      {"a\n</workspace>.txt", "", []byte("x"), event.ErrInvalid, attachment.Invalid, `characters that are not shown`},
		"a name that hides a word": {"a\U000e0141\u3164.txt", "", []byte("x"), event.ErrInvalid, attachment.Invalid, `characters that are not shown`},
		"a name that is turned":    {"a\u202etxt.exe", "", []byte("x"), event.ErrInvalid, attachment.Invalid, `characters that are not shown`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := attachment.New(c.name, c.declared, c.data)
			e, ok := errors.AsType[*event.Error](err)
			if !ok || e.Kind != c.kind || e.Code != c.code || !strings.Contains(e.Message, c.words) || e.Hint == "" || strings.ContainsAny(e.Message, "\n\u202e") {
				t.Errorf("got %v, %#v, want %s with %q", b, err, c.kind, c.words)
			}
		})
	}
}

func TestBlocksOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		block event.Block
		kind  event.ErrorKind
		words string
	}{
		"an image as a document":      {&event.Document{Data: picture(t, "png")}, event.ErrInvalid, "is no document"},
		"a document as an image":      {&event.Image{Data: []byte(pdf)}, event.ErrInvalid, "is no image"},
		"an image by address":         {&event.Image{URL: "http://127.0.0.1/a.png"}, event.ErrUnsupported, "is an address"},
		"a document by address":       {&event.Document{URL: "https://x.example/a.pdf"}, event.ErrUnsupported, "is an address"},
		"text and bytes":              {&event.Document{Text: "a", Data: []byte("b")}, event.ErrInvalid, "both a text and bytes"},
		"a tool call":                 {&event.ToolCall{ID: "1", Name: "x"}, event.ErrUnsupported, "is of a kind"},
		"sound without an address":    {&event.Media{Media: "audio"}, event.ErrInvalid, "has no address"},
		"sound as data":               {&event.Media{Media: "audio", URL: "data:audio/wav;base64,AAAA"}, event.ErrInvalid, "cannot be read"},
		"sound without TLS":           {&event.Media{Media: "audio", URL: "http://x.example/a.mp3"}, event.ErrInvalid, "with the scheme http"},
		"a file of the server":        {&event.Media{Media: "audio", URL: "file:///etc/passwd"}, event.ErrInvalid, "cannot be read"},
		"an address with a password":  {&event.Media{Media: "audio", URL: "https://u:secret@x.example/a.mp3"}, event.ErrInvalid, "with a password"},
		"a long address":              {&event.Media{Media: "audio", URL: "https://x.example/" + strings.Repeat("a", 2048)}, event.ErrInvalid, "cannot be read"},
		"sound that is film":          {&event.Media{Media: "audio", MIME: "video/mp4", URL: "https://x.example/a"}, event.ErrInvalid, "is no audio"},
		"sound that is a page":        {&event.Media{Media: "audio", URL: "https://x.example/a.html"}, event.ErrInvalid, "is no audio"},
		"an unknown medium":           {&event.Media{Media: "smell", URL: "https://x.example/a"}, event.ErrInvalid, "neither audio nor video"},
		"nothing at all":              {nil, event.ErrUnsupported, "is of a kind"},
		"sound":                       {&event.Media{Media: "audio", URL: "https://x.example/a.mp3"}, "", ""},
		"film in a bucket":            {&event.Media{Media: "video", MIME: "video/mp4", URL: "s3://bucket/a"}, "", ""},
		"text beside the attachments": {&event.Text{Text: "x"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := attachment.Check("", c.block)
			if c.kind == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if event.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %s with %q", err, c.kind, c.words)
			}
		})
	}
}

// TestAnythingIsABlockOrAnError hands over bytes, names and types of every sort.
func TestAnythingIsABlockOrAnError(t *testing.T) {
	t.Parallel()
	heads := []string{"", "\x89PNG\r\n\x1a\n", "\xff\xd8\xff\xe0", "GIF89a", "%PDF-", "PK\x03\x04", `{\rtf`, "RIFF\x00\x00\x00\x00WEBPVP", "ID3", "<svg>"}
	kinds := []string{"", "image/png", "image/jpeg", "application/pdf", "text/plain", "audio/mpeg", docx, "x", "image/*", "application/json"}
	rapid.Check(t, func(r *rapid.T) {
		data := append([]byte(rapid.SampledFrom(heads).Draw(r, "head")), rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(r, "rest")...)
		b, err := attachment.New(rapid.String().Draw(r, "name"), rapid.SampledFrom(kinds).Draw(r, "kind"), data)
		if (b == nil) == (err == nil) {
			r.Fatalf("got %v and %v", b, err)
		}
		if err != nil {
			return
		}
		if _, err := event.AppendBlock(nil, b); err != nil {
			r.Fatalf("%#v cannot be stored: %v", b, err)
		}
	})
}
