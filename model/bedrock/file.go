package bedrock

import (
	"bytes"
	"encoding/base64"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/media"
)

// imageFormat returns an image's format; "" if the API cannot read it (API_runtime_ImageBlock).
func imageFormat(b *event.Image) string {
	switch b.MIME {
	case "image/png", "image/gif", "image/webp", "image/jpeg":
		return b.MIME[len("image/"):]
	default:
		return ""
	}
}

// stored reports whether a file is in S3, where the API may read it.
func stored(address string) bool { return media.Scheme(address) == "s3" }

func (e *encoder) image(b *event.Image) {
	b = media.Image(b)
	format := imageFormat(b)
	if e.family.noImages || format == "" || !e.held(b.Data, b.URL) {
		e.text("[an image that cannot be shown]")
		return
	}
	e.begin(`{"image":{"format":"` + format + `"`)
	e.source(b.Data, b.URL)
	e.key(`}},`)
	e.files++
}

// held reports whether a file can be sent to the API.
func (e *encoder) held(data []byte, address string) bool {
	return len(data) > 0 || e.family.stored && stored(address)
}

func (e *encoder) source(data []byte, address string) {
	if len(data) == 0 {
		e.key(`,"source":{"s3Location":{"uri":`)
		e.str(address)
		e.key(`}}`)
		return
	}
	e.key(`,"source":{"bytes":"`)
	e.dst = base64.StdEncoding.AppendEncode(e.dst, data)
	e.key(`"}`)
}

var documentFormats = map[string]string{
	"application/pdf": "pdf", "text/csv": "csv", "text/html": "html", "application/xhtml+xml": "html", "text/markdown": "md",
	"application/msword": "doc", "application/vnd.ms-excel": "xls",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       "xlsx",
	"application/json": "txt", "application/xml": "txt", "application/yaml": "txt",
}

// documentFormat returns a document's format; "" if the API cannot read it (API_runtime_DocumentBlock).
func documentFormat(b *event.Document) string {
	if f, ok := documentFormats[b.MIME]; ok {
		return f
	}
	if b.Text != "" || strings.HasPrefix(b.MIME, "text/") {
		return "txt"
	}
	return ""
}

func (e *encoder) document(b *event.Document) {
	b = media.Document(b)
	format := documentFormat(b)
	data := b.Data
	if b.Text != "" {
		data = []byte(b.Text)
	}
	if format == "" || !e.held(data, b.URL) {
		e.text(strings.TrimSpace("[a document that cannot be shown " + b.Name + "]"))
		return
	}
	if format == "txt" || format == "md" || format == "csv" {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	if e.family.noDocuments {
		if format == "txt" || format == "md" || format == "csv" {
			e.text(string(data))
			return
		}
		e.text(strings.TrimSpace("[a document that cannot be shown " + b.Name + "]"))
		return
	}
	e.begin(`{"document":{"format":"` + format + `","name":`)
	e.str(e.documentName(b.Name))
	e.source(data, b.URL)
	e.key(`}},`)
	e.files++
	if format != "pdf" {
		e.last = looseDocument
	}
}

// documentName returns a valid document name: at most 200 letters, digits, single blanks, hyphens, parentheses and
// brackets, and unique in the conversation. It has no extension, because the API allows no dot.
func (e *encoder) documentName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimSuffix(name, path.Ext(name))
	var s strings.Builder
	blank := false
	for _, r := range name {
		ok := r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-()[]", r))
		if !ok {
			blank = s.Len() > 0
			continue
		}
		const most = 180
		if s.Len() >= most {
			break
		}
		if blank {
			s.WriteByte(' ')
		}
		blank = false
		s.WriteRune(r)
	}
	base := s.String()
	if base == "" {
		base = "document"
	}
	free := base
	for n := 2; slices.ContainsFunc(e.names, func(d docName) bool { return d.name == free }); n++ {
		free = base + " (" + strconv.Itoa(n) + ")"
	}
	e.names = append(e.names, docName{free, len(e.dst)})
	return free
}

var videoFormats = []string{"mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"}

// videoFormat returns a video's format; "" if the API cannot read it (API_runtime_VideoBlock).
func videoFormat(b *event.Media) string {
	format := strings.TrimPrefix(b.MIME, "video/")
	switch format {
	case "quicktime":
		format = "mov"
	case "3gp", "3gpp", "3gpp2", "3g2":
		format = "three_gp"
	case "x-matroska":
		format = "mkv"
	case "x-ms-wmv":
		format = "wmv"
	case "x-flv":
		format = "flv"
	}
	if b.Media != "video" || !slices.Contains(videoFormats, format) {
		return ""
	}
	return format
}

func (e *encoder) media(b *event.Media) {
	b = media.Media(b)
	format := videoFormat(b)
	if !e.family.video || format == "" || !stored(b.URL) {
		e.text(strings.TrimSpace("[" + b.Media + " " + b.URL + "]"))
		return
	}
	e.begin(`{"video":{"format":"` + format + `"`)
	e.source(nil, b.URL)
	e.key(`}},`)
	e.files++
}
