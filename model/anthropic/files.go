package anthropic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"path"
	"strings"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/lazyre"
	"github.com/braidrun/braid/internal/media"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/internal/idle"
	"github.com/braidrun/braid/model/internal/provider"
	"github.com/braidrun/braid/secret"
)

// fileScheme begins the address of an uploaded file: "anthropic-file:FILE_ID".
const fileScheme = "anthropic-file:"

var (
	fileIDs = lazyre.New(`^[A-Za-z0-9_-]{1,200}$`)
	// files matches the addresses of files that some vendor stores.
	files = lazyre.New(`^([a-z0-9]+)-file:`)
)

// fileID returns the id in an uploaded file's address; "" for other addresses.
func fileID(address string) string {
	id, ok := strings.CutPrefix(address, fileScheme)
	if !ok || !fileIDs.MatchString(id) {
		return ""
	}
	return id
}

// isFile reports whether an address names a file that some vendor stores.
func isFile(address string) bool { return files.MatchString(address) }

// foreignFile returns the error for a file address that Anthropic did not give.
func foreignFile(address string) error {
	vendor := files.FindStringSubmatch(address)
	if vendor == nil || vendor[1] == "anthropic" {
		return notSent(event.ErrInvalid, "the address of a file is not one that Anthropic gave", "give the address that Upload returned")
	}
	return notSent(event.ErrInvalid, "the file %q is kept by another vendor: %s", "upload it to Anthropic, or give its bytes",
		provider.Line(address, secret.Secret{}), vendor[1])
}

// office reports whether only code can read a kind of document: office files and archives.
func office(kind string) bool {
	return strings.HasPrefix(kind, "application/vnd.") || kind == "application/msword" || kind == "application/rtf" || kind == "application/zip"
}

// runsCode reports whether a server-side tool can read files with code.
func runsCode(t model.ServerTool) bool { return t.Kind == model.CodeExecution }

// largestFile bounds an upload, in bytes (build-with-claude/files).
const largestFile = 500 << 20

var errFileTooLarge = errors.New("the file is too large")

// Upload implements [model.FileStore] with the vendor's Files API (build-with-claude/files).
// Put the address that it returns into the URL of an [event.Image] or [event.Document], and
// the file's type into MIME. The model reads PDF and plain text as documents; the server-side
// tool code_execution reads files of any other kind. The vendor stores the file until
// [Model.Delete]. Bedrock and Vertex AI have no such API: the error is of kind
// [event.ErrUnsupported]. If reading the content blocks, it may still be read after ctx has
// ended and Upload has returned.
func (m *Model) Upload(ctx context.Context, f model.File) (string, error) {
	if err := m.noFiles(); err != nil {
		return "", err
	}
	if f.Content == nil {
		return "", notSent(event.ErrInvalid, "there is no content to upload", "give the file's content")
	}
	g := idle.New(ctx, m.stall)
	defer g.End()
	part, w := io.Pipe()
	form := multipart.NewWriter(w)
	written := make(chan struct{})
	go func() {
		defer close(written)
		w.CloseWithError(writeFile(form, f))
	}()
	// The transport waits for its reads of the body even when the call is cancelled.
	stop := context.AfterFunc(g.Context(), func() { _ = part.CloseWithError(context.Cause(g.Context())) })
	defer stop()
	var kept struct {
		ID string `json:"id"`
	}
	// The vendor sends nothing until it has the file, so progress of the upload resets the
	// idle timeout.
	err := m.exchange(g, http.MethodPost, m.route("files"), nil, form.FormDataContentType(), content{stream: sending{g, part}}, &kept)
	_ = part.CloseWithError(io.ErrClosedPipe) // the writer may wait for a reader
	select {
	case <-written:
	case <-ctx.Done(): // a reader that ignores it must not hold the call
	}
	switch {
	case errors.Is(err, errFileTooLarge):
		return "", notSent(event.ErrTooLarge, "the file is larger than the %d MiB that Anthropic keeps", "send a smaller one", largestFile>>20)
	case err != nil:
		return "", m.noStore(m.failure(g, err))
	case !fileIDs.MatchString(kept.ID):
		return "", m.failure(g, &foreignError{kind: jsonType})
	}
	return fileScheme + kept.ID, nil
}

// Delete implements [model.FileStore].
func (m *Model) Delete(ctx context.Context, address string) error {
	if err := m.noFiles(); err != nil {
		return err
	}
	id := fileID(address)
	if id == "" {
		return foreignFile(address)
	}
	g := idle.New(ctx, m.stall)
	defer g.End()
	var gone struct {
		ID string `json:"id"`
	}
	err := m.exchange(g, http.MethodDelete, m.route("files/"+id), nil, "", content{}, &gone)
	if r, ok := errors.AsType[*provider.Refused](err); ok && r.Status == http.StatusNotFound &&
		said(r.Status, r.Header, r.Body).kind == "not_found_error" {
		return nil
	}
	if err != nil {
		return m.noStore(m.failure(g, err))
	}
	return nil
}

// noFiles returns the error for Bedrock and Vertex AI, which have no Files API; nil for
// Anthropic's API.
func (m *Model) noFiles() error {
	if m.onCloud() {
		return notSent(event.ErrUnsupported, "%s keeps no files for Claude", "give the file's bytes in the message", m.title())
	}
	return nil
}

// noStore turns an error that means "no Files API" into one that says so. For other calls, the
// same status means an unknown model.
func (m *Model) noStore(err error) error {
	if e, ok := errors.AsType[*event.Error](err); ok && e.Kind == event.ErrModelNotFound {
		e.Kind, e.Message = event.ErrUnsupported, m.host()+" has no Files API"
		e.Hint = m.look() + ", or give the file's bytes in the message"
	}
	return err
}

// sending is a request body whose reads reset the idle timeout.
type sending struct {
	*idle.Guard

	r io.Reader
}

func (s sending) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.Arm()
	return n, err
}

// forbidden matches characters that the vendor refuses in file names.
var forbidden = lazyre.New(`[<>:"|?*\\/\x00-\x1f\x7f]`)

// writeFile writes the multipart form of an upload.
func writeFile(form *multipart.Writer, f model.File) error {
	name := path.Base(strings.ReplaceAll(f.Name, `\`, "/"))
	if name = strings.ToValidUTF8(forbidden.ReplaceAllString(name, "_"), "_"); f.Name == "" || name == "." || name == "" {
		name = "file"
	}
	for len(name) > 255 {
		name = name[1:] // keep the end, which has the extension
	}
	name = strings.ToValidUTF8(name, "_")
	begin := make([]byte, 512)
	n, err := io.ReadFull(f.Content, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return unread(err)
	}
	begin = begin[:n]
	kind := media.Kind(f.MIME)
	for _, guess := range []string{media.Named(name), media.Sniffed(begin), "application/octet-stream"} {
		if kind == "" {
			kind = guess
		}
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", `form-data; name="file"; filename="`+name+`"`)
	header.Set("Content-Type", kind)
	part, err := form.CreatePart(header)
	if err != nil {
		return err
	}
	rest := &io.LimitedReader{R: io.MultiReader(bytes.NewReader(begin), f.Content), N: largestFile + 1}
	buf := make([]byte, 64<<10)
	for {
		k, err := rest.Read(buf)
		if rest.N <= 0 {
			return errFileTooLarge
		}
		if _, err := part.Write(buf[:k]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return form.Close()
		}
		if err != nil {
			return unread(err)
		}
	}
}

// unread is the caller's error while reading a file, to tell it from a network error.
func unread(err error) error {
	return &event.Error{
		Op: op, Kind: event.ErrInvalid, Message: "the file to upload cannot be read", Hint: "look at where its content comes from",
		Err: fmt.Errorf("read the file: %w", err),
	}
}
