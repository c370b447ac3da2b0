package gemini

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/provider"
)

var _ model.FileStore = (*Model)(nil)

const (
	// pieceSize is how much of a file one request sends. The API requires a multiple of 256 KiB.
	pieceSize = 8 << 20
	// mostFile is the maximum size of a file (docs/files).
	mostFile = 2 << 30
	// mostName is the maximum length of a file's name.
	mostName = 512
	// readySoon and readyLate are the first and the longest pause between two checks whether a file is ready. readyIn
	// limits the whole wait; video takes minutes.
	readySoon = 500 * time.Millisecond
	readyLate = 10 * time.Second
	readyIn   = 10 * time.Minute
)

// wireFile describes a file on the wire (api/files).
type wireFile struct {
	Name  string     `json:"name"`
	URI   string     `json:"uri"`
	State string     `json:"state"`
	Error *wireError `json:"error"`
}

var fileNames = lazyre.New(`^files/[a-z0-9][a-z0-9-]{0,62}$`)

// Upload implements [model.FileStore] (api/files). It sends the file in pieces, waits until the API can use it, and
// returns the file's address. The wait takes minutes for video. The API stores a file for 48 hours. Vertex AI has no
// such store: the error is of kind [event.ErrUnsupported]. Vertex AI reads files from Cloud Storage, by addresses
// that begin with gs:.
func (m *Model) Upload(ctx context.Context, f model.File) (string, error) {
	if m.vertex {
		return "", m.noFiles()
	}
	kind := f.MIME
	if kind == "" {
		kind = mime.TypeByExtension(path.Ext(f.Name))
	}
	if parsed, _, err := mime.ParseMediaType(kind); err != nil || !strings.Contains(parsed, "/") {
		return "", notSent(event.ErrInvalid, "the kind of the file is not known", `give its MIME type, such as "application/pdf"`)
	}
	if f.Content == nil || len([]rune(f.Name)) > mostName {
		return "", notSent(event.ErrInvalid, "the file has no content, or a name that is too long", "give both; a name has at most 512 letters")
	}
	to, err := m.beginUpload(ctx, f.Name, kind)
	if err != nil {
		return "", err
	}
	file, err := m.sendPieces(ctx, to, f.Content)
	if err != nil {
		return "", err
	}
	return m.ready(ctx, file)
}

// noFiles returns the error for Vertex AI, which stores no files.
func (m *Model) noFiles() error {
	return notSent(event.ErrUnsupported, "Vertex AI keeps no files",
		"put the file into Cloud Storage, and name it by an address that begins with gs:")
}

// beginUpload starts an upload and returns the address for the pieces.
func (m *Model) beginUpload(ctx context.Context, name, kind string) (string, error) {
	x := exchange{body: []byte(`{"file":{}}`), upload: m.root() + "/upload/" + geminiVersion + "/files", header: http.Header{
		"X-Goog-Upload-Protocol": {"resumable"}, "X-Goog-Upload-Command": {"start"}, "X-Goog-Upload-Header-Content-Type": {kind},
	}}
	if name != "" {
		x.body = append(strictjson.AppendString([]byte(`{"file":{"displayName":`), name), `}}`...)
	}
	if err := m.call(ctx, &x, nil); err != nil {
		return "", err
	}
	// The key is sent only to the configured address, whatever host the answer names.
	to, err := url.Parse(x.answer.Header.Get("X-Goog-Upload-Url"))
	root, rootErr := url.Parse(m.root())
	if err != nil || rootErr != nil || to.Path == "" {
		return "", m.strange()
	}
	to.Scheme, to.Host, to.User = root.Scheme, root.Host, nil
	return to.String(), nil
}

// sendPieces sends the content and returns the API's description of the file.
func (m *Model) sendPieces(ctx context.Context, to string, content io.Reader) (*wireFile, error) {
	in := bufio.NewReader(content)
	piece := make([]byte, pieceSize)
	for at := int64(0); ; {
		n, err := io.ReadFull(in, piece)
		_, more := in.Peek(1)
		last := err != nil || more != nil
		for _, err := range []error{err, more} {
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, &event.Error{
					Op: op, Kind: event.ErrInvalid, Message: "the file cannot be read", Hint: "look at where its content comes from", Err: err,
				}
			}
		}
		if at+int64(n) > mostFile {
			return nil, notSent(event.ErrTooLarge, "the file is larger than the 2 GB that the Gemini API keeps", "send a smaller one")
		}
		command := "upload"
		if last {
			command = "upload, finalize"
		}
		x := exchange{body: piece[:n], upload: to, header: http.Header{
			"Content-Type": {"application/octet-stream"}, "X-Goog-Upload-Command": {command}, "X-Goog-Upload-Offset": {strconv.FormatInt(at, 10)},
		}}
		at += int64(n)
		if !last {
			if err := m.call(ctx, &x, nil); err != nil {
				return nil, err
			}
			if x.answer.Header.Get("X-Goog-Upload-Status") != "active" {
				return nil, m.strange()
			}
			continue
		}
		var said struct {
			File *wireFile `json:"file"`
		}
		if err := m.call(ctx, &x, &said); err != nil {
			return nil, err
		}
		if said.File == nil {
			return nil, m.strange()
		}
		return said.File, nil
	}
}

// ready waits until the API can use a file, and returns the file's address.
func (m *Model) ready(ctx context.Context, f *wireFile) (string, error) {
	address := f.URI
	if !provider.Address(address) || !fileNames.MatchString(f.Name) || fileIn(address) != f.Name {
		return "", m.strange()
	}
	late := time.NewTimer(readyIn)
	defer late.Stop()
	for pause := readySoon; ; pause = min(2*pause, readyLate) {
		switch f.State {
		case "", "STATE_UNSPECIFIED", "ACTIVE":
			return address, nil
		case "FAILED":
			e := &event.Error{Op: op, Kind: event.ErrInvalid, Message: "the Gemini API cannot use the file", Hint: "look at the file and its kind"}
			if f.Error != nil {
				e.Message = provider.Tell(e.Message, provider.Line(f.Error.Message, m.key))
			}
			return "", e
		}
		next := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			next.Stop()
			return "", provider.Ended(op, ctx)
		case <-late.C:
			next.Stop()
			return "", &event.Error{
				Op: op, Kind: event.ErrUnavailable, Message: "the Gemini API has not made the file ready within " + readyIn.String(),
				Hint: "try again, or send a smaller file",
			}
		case <-next.C:
		}
		var now wireFile
		if err := m.call(ctx, &exchange{method: http.MethodGet, path: f.Name}, &now); err != nil {
			return "", err
		}
		f.State, f.Error = now.State, now.Error
	}
}

// Delete implements [model.FileStore].
func (m *Model) Delete(ctx context.Context, address string) error {
	if m.vertex {
		return m.noFiles()
	}
	name := fileIn(address)
	if u, err := url.Parse(address); err != nil || name == "" || u.Host != m.place() && u.Host != usualHost {
		return notSent(event.ErrInvalid, "the address is not one of a file at the Gemini API", "give the one that Upload has returned")
	}
	err := m.call(ctx, &exchange{method: http.MethodDelete, path: name}, nil)
	if e, ok := errors.AsType[*event.Error](err); ok && gone(e) {
		return nil
	}
	return err
}

// gone reports whether a file does not exist. The API gives the same error for deleted files and for other users'
// files.
func gone(e *event.Error) bool {
	a, ok := errors.AsType[*apiError](e.Err)
	return ok && (a.kind == "NOT_FOUND" || a.status == http.StatusForbidden && strings.Contains(a.message, "may not exist"))
}

// fileIn returns the name of the file at an address; "" if there is none.
func fileIn(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	name := "files/" + path.Base(u.Path)
	if !strings.HasSuffix(u.Path, "/"+name) || !fileNames.MatchString(name) {
		return ""
	}
	return name
}
