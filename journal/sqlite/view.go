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

// Reader looks into a journal without owning it: also while another process
// writes it, and after that one was killed. [View] makes it. It sees what is
// committed, and each call one moment of that; of leases that were given and runs
// that were only started it may know nothing yet. It changes nothing.
//
// All methods are safe for concurrent use, and promise what those of the same name
// in package journal do.
type Reader struct{ reader *reader }

// View opens the journal in the folder for reading. It takes no lock on the folder,
// makes no journal where there is none, and leaves the file as it is; beside it,
// there may be the two files that SQLite needs to share it.
//
// Errors are of these kinds: ErrNotFound where there is no journal, ErrNewer where a
// newer version of Braid wrote it, ErrUnsupported where an older one did and
// nobody has opened it since, ErrPermission where it cannot be read, ErrInvalid
// where the file is not a journal, ErrInternal where it is damaged.
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

// Read gives at most limit events of the conversation after seq after; see
// [journal.Store].
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

// Close waits for the calls that are under way and refuses all others. It may be
// called again.
func (r *Reader) Close() error { return fault("journal close", r.reader.close()) }
