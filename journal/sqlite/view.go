package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
)

// Reader reads a journal without owning it, also while another process writes it or after that
// process was killed. [View] makes it. Each call sees one committed state, which may lack leases
// that were given and runs that were only started. A Reader changes nothing.
//
// All methods are safe for concurrent use and behave as the methods of the same name in package
// journal.
type Reader struct{ reader *reader }

// View opens the journal in the folder for reading. It takes no lock on the folder, creates no journal and does not
// change the file. SQLite may create two files beside it to share it.
//
// The error is ErrNotFound if there is no journal and ErrNewer if a newer version of Braid wrote it. It is
// ErrUnsupported if an older version wrote it and no newer one has opened it since. It is ErrPermission if the file
// cannot be read, ErrInvalid if it is not a journal, and ErrInternal if it is damaged.
func View(folder string) (*Reader, error) {
	const op = "journal view"
	if folder == "" {
		return nil, &event.Error{
			Op: op, Kind: event.ErrInvalid, Message: "the journal has no folder", Hint: "name the folder with the data",
		}
	}
	path := filepath.Join(folder, fileName)
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noJournal(op)
	case err != nil:
		return nil, folderFault(op, err)
	case info.IsDir():
		return nil, noFile(op)
	}
	r, err := view(op, path)
	if err != nil {
		return nil, fault(op, err)
	}
	return &Reader{r}, nil
}

func view(op, path string) (*reader, error) {
	ctx := context.Background()
	r, err := newReader(ctx, path)
	if err != nil {
		return nil, err
	}
	var application, version, tables int
	_, err = r.row(ctx, selectHeader, nil, &application, &version, &tables)
	known := len(embedded())
	switch {
	case err != nil:
	case application == 0 && version == 0 && tables == 0:
		err = noJournal(op)
	case application != applicationID:
		err = foreign(op)
	case version > known:
		err = newer(op, version, known)
	case version < known:
		err = &event.Error{
			Op: op, Kind: event.ErrUnsupported,
			Message: "the journal was written by an older version of Braid (its schema is " + strconv.Itoa(version) +
				", this version reads " + strconv.Itoa(known) + ")",
			Hint: "start this version on the folder once: that brings the journal up to date",
		}
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func noJournal(op string) error {
	return &event.Error{
		Op: op, Kind: event.ErrNotFound, Message: "there is no journal in the folder",
		Hint: "check the folder; a journal is there once something has run with it",
	}
}

// Read returns at most limit events of the conversation after a Seq; see [journal.Store].
func (r *Reader) Read(ctx context.Context, conversation string, after int64, limit int) ([]*event.Event, error) {
	return r.reader.log(ctx, conversation, after, limit)
}

// Tail implements [journal.Store].
func (r *Reader) Tail(ctx context.Context, conversation string) (journal.Tail, error) {
	return r.reader.tail(ctx, conversation)
}

// Entered implements [journal.Store].
func (r *Reader) Entered(ctx context.Context, conversation, id string) (run string, err error) {
	return r.reader.entered(ctx, conversation, id)
}

// Conversations implements [journal.Catalog].
func (r *Reader) Conversations(ctx context.Context, tenant, after string, limit int) ([]journal.Summary, error) {
	return conversations(ctx, r.reader.look, tenant, after, limit)
}

// Runs implements [journal.Catalog].
func (r *Reader) Runs(ctx context.Context, conversation string, after, limit int) ([]journal.Run, error) {
	return runs(ctx, r.reader.look, conversation, after, limit)
}

// Close waits for running calls and refuses later ones. It may be called again.
func (r *Reader) Close() error { return fault("journal close", r.reader.close()) }
