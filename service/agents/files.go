package agents

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/tool/demotool"
)

// Files is the folder in which a server gives each conversation a folder for its files. The name of
// such a folder has the conversation's tenant and life in it, so that no conversation ever finds the files
// of another one, even if both have the same id. The zero value has no folders.
type Files struct{ dir string }

// FilesIn gives conversations folders below dir, which is made with the first of them.
func FilesIn(dir string) Files { return Files{dir} }

// Make makes the folder. Its error is the system's.
func (s Files) Make() error { return os.MkdirAll(s.dir, 0o700) }

// Tools are the tools that reach the folder of the conversation whose run calls them. The zero value has none.
func (s Files) Tools() []braid.Tool {
	if s.dir == "" {
		return nil
	}
	return demotool.FilesOf(s.open)
}

func filesError(err error) error {
	e := &event.Error{
		Kind: event.ErrPermission, Message: "the scratch folder cannot be made", Err: err,
		Hint: "name another folder, or leave the tools of files out",
	}
	if os.IsExist(err) {
		e.Kind, e.Message = event.ErrInvalid, "the scratch folder is no folder"
	}
	return e
}

// scratchMark stands between the parts of a folder's name. No tenant, conversation or life has it.
const scratchMark = "@"

// of returns where the conversation's folder is. ok is false if it cannot have one.
func (s Files) of(key service.ConversationKey) (dir string, ok bool) {
	for _, part := range []string{key.Tenant, key.ID, key.Life} {
		if part == "" || !isName(part) || strings.Contains(part, scratchMark) {
			return "", false
		}
	}
	return filepath.Join(s.dir, strings.Join([]string{key.Tenant, key.ID, key.Life}, scratchMark)), s.dir != ""
}

// keyOf reads the name of a conversation's folder.
func (s Files) keyOf(name string) (key service.ConversationKey, ok bool) {
	parts := strings.Split(name, scratchMark)
	if len(parts) != 3 || !strings.HasPrefix(parts[1], "conv_") {
		return service.ConversationKey{}, false
	}
	return service.ConversationKey{Tenant: parts[0], ID: parts[1], Life: parts[2]}, true
}

// open opens the folder of the conversation whose run calls a tool, and makes it if there is none.
func (s Files) open(ctx context.Context) (*os.Root, error) {
	key, _ := service.ConversationOf(ctx)
	dir, ok := s.of(key)
	if !ok {
		return nil, fs.ErrNotExist
	}
	s.adopt(key, dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// coarse is how far the clock of a file system may be behind.
const coarse = time.Second

// adopt moves the folder that an earlier version of Braid kept under the conversation's id alone. A folder in
// which something is older than the conversation belongs to an earlier one of that id, and stays.
func (s Files) adopt(key service.ConversationKey, dir string) {
	old := filepath.Join(s.dir, key.ID)
	list, err := os.ReadDir(old)
	made, ok := timeOf(key.Life)
	if err != nil || !ok {
		return
	}
	for _, entry := range list {
		if info, err := entry.Info(); err != nil || info.ModTime().Before(made.Add(-coarse)) {
			return
		}
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		_ = os.Rename(old, dir) // another call may have been faster
	}
}

// timeOf is when a conversation of that life was made.
func timeOf(life string) (time.Time, bool) {
	us, err := strconv.ParseInt(life, 36, 64)
	return time.UnixMicro(us), err == nil
}

// forget removes the files of a conversation, also those of an earlier version of Braid.
func (s Files) forget(_ context.Context, key service.ConversationKey) error {
	dir, ok := s.of(key)
	if !ok {
		return nil
	}
	for _, dir := range []string{dir, filepath.Join(s.dir, key.ID)} {
		if err := os.RemoveAll(dir); err != nil {
			return filesError(err)
		}
	}
	return nil
}

// mostSwept bounds how many folders one sweep asks for.
const mostSwept = 1000

// sweep removes the files of conversations that are there no longer: another server has deleted them, or
// a tool that did not stop has written after the deletion. It looks at the folders behind the name after, and
// returns the name to go on from; empty begins.
func (s Files) sweep(
	ctx context.Context, after string, lives func(context.Context, service.ConversationKey) (bool, error),
) (next string, err error) {
	if s.dir == "" {
		return "", nil
	}
	list, err := os.ReadDir(s.dir)
	if err != nil {
		return "", filesError(err)
	}
	asked := 0
	for _, entry := range list {
		key, ok := s.keyOf(entry.Name())
		if !ok || !entry.IsDir() || entry.Name() <= after {
			continue
		}
		if asked++; asked > mostSwept {
			return next, nil
		}
		next = entry.Name()
		switch there, err := lives(ctx, key); {
		case err != nil:
			return after, err
		case there:
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.dir, entry.Name())); err != nil {
			return after, filesError(err)
		}
	}
	return "", nil
}

// Folder is where a program that is no server keeps the files of a conversation: in the folder that a server has given
// the tenant's conversation, or else in one of the conversation's id. It is empty if the id can name no folder.
func (s Files) Folder(tenant, conversation string) string {
	if !isName(conversation) { // others may name conversations as they like
		return ""
	}
	list, err := os.ReadDir(s.dir)
	if err == nil {
		for i := len(list) - 1; i >= 0; i-- { // the newest life
			if key, ok := s.keyOf(list[i].Name()); ok && key.ID == conversation && key.Tenant == tenant {
				return filepath.Join(s.dir, list[i].Name())
			}
		}
	}
	return filepath.Join(s.dir, conversation)
}

// isName reports whether a conversation's id can name a folder of its own.
func isName(id string) bool { return filepath.IsLocal(id) && filepath.Base(id) == id && id != "." }
