package service

import (
	"bytes"
	"context"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/unseen"
	"github.com/braidrun/braid/workspace"
)

// attachmentsFolder is where attachments land in a workspace.
const attachmentsFolder = "attachments"

// landing stores the attachments of one request.
type landing struct {
	files workspace.Files
	// stored are the files that were not there before.
	stored []workspace.File
}

// land stores an attachment under its name, or under one with a number if another file has it. A file with the same
// content is used as it is, so that a repeated request stores nothing twice.
func (l *landing) land(ctx context.Context, a *Attachment) error {
	data, named := bytesOf(a)
	if data == nil {
		return nil
	}
	const most = 1000
	name := safeName(named)
	for n := 1; n <= most; n++ {
		at := path.Join(attachmentsFolder, numbered(name, n))
		f, err := l.files.Put(ctx, at, bytes.NewReader(data), workspace.Condition{Absent: true})
		switch kind := event.KindOf(err); {
		case err == nil:
			l.stored = append(l.stored, f)
			rename(a, path.Base(at))
			return nil
		case kind == event.ErrConflict || kind == event.ErrInvalid: // a file or a folder has the name
			if l.holds(ctx, at, data) {
				rename(a, path.Base(at))
				return nil
			}
		default:
			return err
		}
	}
	return &event.Error{
		Op: "start run", Kind: event.ErrConflict, Message: "the workspace has too many attachments with one name", Hint: "choose another name",
	}
}

// rename gives a document the name of its file, by which the agent's tools find it.
func rename(a *Attachment, name string) {
	if d, ok := a.Block.(*event.Document); ok {
		d.Name = name
	}
	if a.Name == "" {
		a.Name = name
	}
}

// holds reports whether a file has this content.
func (l *landing) holds(ctx context.Context, at string, data []byte) bool {
	f, err := l.files.Stat(ctx, at)
	if err != nil || f.Size != int64(len(data)) {
		return false
	}
	r, err := l.files.Open(ctx, at)
	if err != nil {
		return false
	}
	defer r.Close()
	there, err := io.ReadAll(io.LimitReader(r, f.Size+1))
	return err == nil && bytes.Equal(there, data)
}

// undo removes the files that were stored, unless somebody has changed them.
func (l *landing) undo(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	for _, f := range l.stored {
		if now, err := l.files.Stat(ctx, f.Path); err == nil && now.Version == f.Version {
			_ = l.files.Remove(ctx, f.Path) // it stays as a file of the conversation
		}
	}
	l.stored = nil
}

// bytesOf returns the content of a file and a name for it; nil for what is no file.
func bytesOf(a *Attachment) (data []byte, name string) {
	switch b := a.Block.(type) {
	case *event.Image:
		return b.Data, orNamed(a.Name, "image", b.MIME)
	case *event.Document:
		if name = a.Name; name == "" {
			name = b.Name
		}
		if b.Text != "" {
			return []byte(b.Text), orNamed(name, "document", b.MIME)
		}
		return b.Data, orNamed(name, "document", b.MIME)
	}
	return nil, ""
}

// endings are the endings of files without a name, by their type.
var endings = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "application/pdf": ".pdf",
	"text/plain": ".txt", "text/markdown": ".md", "text/csv": ".csv", "text/html": ".html", "application/json": ".json",
}

func orNamed(name, kind, mime string) string {
	if name != "" {
		return name
	}
	return kind + endings[mime]
}

// safeName returns a name that every workspace accepts: without folders, and without characters that systems reserve.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r != ' ' && !unicode.IsPrint(r) || unseen.Rune(r) || strings.ContainsRune(`<>:"/\|?*`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = strings.Trim(name, " ")
	name = strings.TrimRight(name, ". ")
	const most = 150
	if len(name) > most {
		end := path.Ext(name)
		if len(end) > 20 {
			end = ""
		}
		name = strings.ToValidUTF8(name[:most-len(end)], "") + end
	}
	if name == "" || workspace.CheckPath("attach", path.Join(attachmentsFolder, name)) != nil {
		name = "file_" + strings.TrimLeft(name, ". ")
	}
	return name
}

// numbered puts a number before the ending of a name; 1 is none.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	end := path.Ext(name)
	return strings.TrimSuffix(name, end) + "-" + strconv.Itoa(n) + end
}
