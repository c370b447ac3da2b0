// Package media normalizes what callers say about files: kinds in capitals, with parameters, under
// an old name, as a mere extension, or missing; data in addresses (RFC 2397); addresses with
// unusual schemes. All providers use it, so that they accept the same spellings.
//
// Nothing here fails. What is not understood stays as it is or has no kind, and the provider
// reports that it does not support it.
package media

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"
)

// names maps other names of kinds, and extensions in the place of a kind.
var names = map[string]string{
	"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-jpeg": "image/jpeg", "image/x-png": "image/png",
	"image/x-webp": "image/webp", "image/x-gif": "image/gif", "image/x-ms-bmp": "image/bmp", "image/x-bmp": "image/bmp",
	"application/x-pdf": "application/pdf", "application/acrobat": "application/pdf", "text/pdf": "application/pdf",
	"text/x-markdown": "text/markdown", "text/md": "text/markdown", "application/markdown": "text/markdown",
	"application/csv": "text/csv", "text/x-csv": "text/csv", "text/json": "application/json", "text/xml": "application/xml",
	"application/x-yaml": "application/yaml", "text/yaml": "application/yaml", "text/x-yaml": "application/yaml",
	"audio/mp3": "audio/mpeg", "audio/x-mp3": "audio/mpeg", "audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/vnd.wave": "audio/wav",
	"audio/x-flac": "audio/flac", "audio/x-m4a": "audio/mp4", "audio/m4a": "audio/mp4", "video/mov": "video/quicktime", "video/x-m4v": "video/mp4",
}

// endings maps the extensions of file names to kinds.
var endings = map[string]string{
	"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "bmp": "image/bmp",
	"tif": "image/tiff", "tiff": "image/tiff", "svg": "image/svg+xml", "heic": "image/heic", "heif": "image/heif", "avif": "image/avif",
	"pdf": "application/pdf", "txt": "text/plain", "text": "text/plain", "log": "text/plain", "md": "text/markdown", "markdown": "text/markdown",
	"csv": "text/csv", "htm": "text/html", "html": "text/html", "json": "application/json", "xml": "application/xml",
	"yaml": "application/yaml", "yml": "application/yaml", "doc": "application/msword", "xls": "application/vnd.ms-excel",
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"ppt":  "application/vnd.ms-powerpoint", "odt": "application/vnd.oasis.opendocument.text", "rtf": "application/rtf",
	"mp3": "audio/mpeg", "wav": "audio/wav", "flac": "audio/flac", "ogg": "audio/ogg", "m4a": "audio/mp4",
	"mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm", "mov": "video/quicktime", "mpg": "video/mpeg", "mpeg": "video/mpeg",
}

// Kind returns a kind in its canonical form: lower case, no parameters, its registered name. An extension such as
// "png" or ".PNG" counts as its kind. It returns "" for a kind without information: none, "application/octet-stream",
// "image/*", or an unknown word.
func Kind(said string) string {
	kind, _, _ := strings.Cut(strings.ToLower(said), ";")
	kind = strings.TrimSpace(kind)
	if known, ok := names[kind]; ok {
		return known
	}
	family, rest, ok := strings.Cut(kind, "/")
	if !ok {
		return endings[strings.TrimPrefix(kind, ".")]
	}
	if family == "" || rest == "" || strings.ContainsAny(kind, "* \t,\"") || rest == "octet-stream" || rest == "x-unknown" || rest == "unknown" {
		return ""
	}
	if _, _, err := mime.ParseMediaType(kind); err != nil {
		return ""
	}
	return kind
}

// Named returns the kind for the extension of a name or address; "" if it is unknown.
func Named(name string) string {
	if at := strings.IndexAny(name, "?#"); at >= 0 {
		name = name[:at]
	}
	return endings[strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))]
}

// Sniffed returns the kind of data by its first bytes, including text. It returns "" if they are
// ambiguous, for example those of an archive, which may be a document.
func Sniffed(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	if at := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-")); at >= 0 && (at == 0 || !bytes.ContainsAny(data[:at], "<{")) {
		return "application/pdf" // readers look for it in the first kilobyte
	}
	if len(data) >= 12 && string(data[4:8]) == "ftyp" {
		switch string(data[8:12]) {
		case "heic", "heix", "hevc", "hevx":
			return "image/heic"
		case "mif1", "msf1":
			return "image/heif"
		case "avif", "avis":
			return "image/avif"
		case "qt  ":
			return "video/quicktime"
		case "M4A ":
			return "audio/mp4"
		}
	}
	switch kind := Kind(http.DetectContentType(data)); kind {
	case "application/zip", "application/x-gzip", "application/x-rar-compressed":
		return ""
	default:
		return kind
	}
}
