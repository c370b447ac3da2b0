package attachment

import (
	"bytes"
	"slices"

	"github.com/braidrun/braid/internal/media"
)

// The forms in which Office documents are stored.
const (
	inZip = "zip"
	inOLE = "OLE"
	inRTF = "RTF"
)

// offices are the types of Office documents by their form.
var offices = map[string][]string{
	inZip: {
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation",
		"application/vnd.oasis.opendocument.text",
	},
	inOLE: {"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"},
	inRTF: {"application/rtf"},
}

// container returns the form of an Office document; empty for other bytes.
func container(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return inZip
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return inOLE
	case bytes.HasPrefix(data, []byte(`{\rtf`)):
		return inRTF
	}
	return ""
}

// officeKind returns the type of an Office document. Its form fits several types, of which said or the name chooses one.
func officeKind(name, said, form string) (string, error) {
	kind := said
	if kind == "" {
		kind = media.Named(name)
	}
	switch {
	case slices.Contains(offices[form], kind):
		return kind, nil
	case form == inRTF && said == "":
		return offices[inRTF][0], nil
	case said != "":
		return "", mismatch(name, said, "those of an archive or an Office document")
	}
	return "", unreadable(name, "is an archive, which no model reads", "send its files one by one")
}
