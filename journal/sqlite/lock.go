package sqlite

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
)

// folderLock is a process's lock on a folder. The operating system holds it and releases it when the process ends in
// any way, so a left-over lock file does no harm. The file's content is only for operators and for the error of a
// second process.
type folderLock struct{ file *os.File }

// errHeld means that another process has the lock.
var errHeld = errors.New("the lock is held")

func lockFolder(op, path string) (*folderLock, error) {
	f, err := claim(path)
	for tries := 0; errors.Is(err, errHeld) && tries < 3; tries++ {
		// Another process may only be checking for an owner, which takes no time; see Owner.
		<-time.After(5 * time.Millisecond)
		f, err = claim(path)
	}
	if errors.Is(err, errHeld) {
		return nil, held(op, path)
	}
	if err != nil {
		return nil, folderFault(op, err)
	}
	if err := sign(f); err != nil {
		_ = f.Close()
		return nil, folderFault(op, err)
	}
	return &folderLock{file: f}, nil
}

// release keeps the file, because removing it could remove one that another process has just
// locked.
func (l *folderLock) release() error { return errors.Join(unlock(l.file), l.file.Close()) }

// sign writes the process id into the file.
func sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func held(op, path string) error {
	who := "another process"
	hint := "stop it, or choose another folder"
	if pid := signer(path); pid > 0 {
		who = "process " + strconv.Itoa(pid)
		if pid == os.Getpid() {
			who, hint = "this process ("+strconv.Itoa(pid)+")", "use the journal that is open, or close it first"
		}
	}
	return &event.Error{
		Op: op, Kind: event.ErrConflict, Message: "the folder for the data is in use by " + who, Hint: hint,
	}
}

// signer reads the process id of the lock's owner; 0 means unknown.
func signer(path string) int {
	f, err := os.Open(path) //nolint:gosec // the folder is the caller's
	if err != nil {
		return 0
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
