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

// Files is the folder in which a server gives each conversation a folder for its files. The
// folder's name contains the conversation's tenant and life, so that no conversation finds files of
// another one with the same id. The zero value has no folders.
type Files struct{ dir string }

// FilesIn returns Files below dir. The first folder creates dir.
func FilesIn(dir string) Files { return Files{dir} }

// Make creates dir. It returns the error of the file system.
func (s Files) Make() error { return os.MkdirAll(s.dir, 0o700) }

// Tools returns the tools that access the folder of the calling run's conversation. The zero value
// has none.
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

// scratchMark separates the parts of a folder's name. No tenant, conversation or life contains it.
const scratchMark = "@"

// of returns the path of the conversation's folder. ok is false if it cannot have one.
func (s Files) of(key service.ConversationKey) (dir string, ok bool) {
	for _, part := range []string{key.Tenant, key.ID, key.Life} {
		if part == "" || !isName(part) || strings.Contains(part, scratchMark) {
			return "", false
		}
	}
	return filepath.Join(s.dir, strings.Join([]string{key.Tenant, key.ID, key.Life}, scratchMark)), s.dir != ""
}

// keyOf parses the name of a conversation's folder.
func (s Files) keyOf(name string) (key service.ConversationKey, ok bool) {
	parts := strings.Split(name, scratchMark)
	if len(parts) != 3 || !strings.HasPrefix(parts[1], "conv_") {
		return service.ConversationKey{}, false
	}
	return service.ConversationKey{Tenant: parts[0], ID: parts[1], Life: parts[2]}, true
}

// open opens the folder of the calling run's conversation, and creates it if necessary.
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

// adopt renames a folder of an older Braid version, which used the conversation's id alone. A
// folder with a file that is older than the conversation belongs to an earlier conversation with
// that id, and stays.
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

// timeOf returns when a conversation of that life was created.
func timeOf(life string) (time.Time, bool) {
	us, err := strconv.ParseInt(life, 36, 64)
	return time.UnixMicro(us), err == nil
}

// forget removes the files of a conversation, including those of an older Braid version.
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

// mostSwept bounds how many folders one sweep checks.
const mostSwept = 1000

// sweep removes the files of conversations that no longer exist: another server deleted them, or a
// tool has written after the deletion. It checks the folders after the name after, and returns the
// name to continue from. An empty name means the first folder.
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

// Folder returns the path where a program without a server keeps a conversation's files: the folder
// that a server gave the tenant's conversation, or else one named by the conversation's id. It
// returns "" if the id cannot name a folder.
func (s Files) Folder(tenant, conversation string) string {
	if !isName(conversation) { // callers may choose any id
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

// isName reports whether a conversation's id can name a folder.
func isName(id string) bool { return filepath.IsLocal(id) && filepath.Base(id) == id && id != "." }
