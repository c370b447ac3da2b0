package sqlite_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal/sqlite"
)

// fill runs in a child with a small disk of its own. No other process sees the mount, and it ends
// with the child.
func fill(folder string) error {
	if err := syscall.Mount("none", folder, "tmpfs", 0, "size=2m"); err != nil {
		fmt.Println("skip")
		return nil //nolint:nilerr // machines without mounts skip the test
	}
	ballast := filepath.Join(folder, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<19), 0o600); err != nil {
		return err
	}
	s, err := sqlite.Open(folder, sqlite.Options{})
	if err != nil {
		return err
	}
	if err := fillUp(s, func() error { return os.Remove(ballast) }); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}

	// A disk that is full from the beginning, and a read-only one.
	empty := filepath.Join(folder, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		return err
	}
	if err := stuff(ballast); err != nil {
		return err
	}
	if _, err := sqlite.Open(empty, sqlite.Options{}); !errors.Is(err, event.ErrStorageFull) {
		return fmt.Errorf("Open on a full disk: %w", err)
	}
	if err := syscall.Mount("none", folder, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return err
	}
	if _, err := sqlite.Open(folder, sqlite.Options{}); !errors.Is(err, event.ErrPermission) {
		return fmt.Errorf("Open on a disk that may only be read: %w", err)
	}
	fmt.Println("good")
	return nil
}

// stuff uses up the remaining space.
func stuff(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestFullDisk fills a real disk if the system allows a mount.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := start(t, "fill", t.TempDir(), func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		if os.Getuid() != 0 {
			c.SysProcAttr.Unshareflags |= syscall.CLONE_NEWUSER
			c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
	})
	switch line := p.next(); line {
	case "good":
	case "skip":
		t.Skip("this system does not let a test mount a disk; TestFull does without")
	default:
		t.Errorf("the child says %q", line)
	}
}

// TestWithoutPermission opens folders as a user without rights.
func TestWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("this takes the right to become another user")
	}
	// That user needs access to the test program and to the parents of the folders.
	top, err := os.MkdirTemp("", "braid") //nolint:usetesting // the parents of t.TempDir are closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	program := filepath.Join(top, "test")
	copyFile(t, program)
	for _, path := range []string{top, program} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, prepare := range map[string]func(folder string) error{
		"folder":   func(folder string) error { return os.Chmod(folder, 0o500) },
		"no way":   func(folder string) error { return os.Chmod(folder, 0o000) },
		"no owner": func(folder string) error { return os.Chown(folder, 0, 0) },
		"lock": func(folder string) error {
			return errors.Join(os.WriteFile(filepath.Join(folder, "journal.lock"), nil, 0o600), os.Chown(folder, 65534, 65534))
		},
		"file": func(folder string) error {
			return errors.Join(os.WriteFile(filepath.Join(folder, "journal.db"), nil, 0o600), os.Chown(folder, 65534, 65534))
		},
		"file to read": func(folder string) error {
			s, err := sqlite.Open(folder, sqlite.Options{})
			if err == nil {
				err = s.Close()
			}
			return errors.Join(err, os.Remove(filepath.Join(folder, "journal.lock")),
				os.Chmod(filepath.Join(folder, "journal.db"), 0o444), os.Chown(folder, 65534, 65534))
		},
		"below": func(folder string) error { return os.Chmod(folder, 0o555) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(top, strings.ReplaceAll(name, " ", "-"))
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := prepare(folder); err != nil {
				t.Fatal(err)
			}
			if name == "below" {
				folder = filepath.Join(folder, "data")
			}
			p := start(t, "try", folder, func(c *exec.Cmd) {
				c.Path, c.Stderr = program, io.Discard
				c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			})
			if line := p.next(); line != "kind permission" {
				t.Errorf("the child says %q, want an error of kind permission", line)
			}
		})
	}
}

func copyFile(t *testing.T, to string) {
	t.Helper()
	from, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The files are private, also in a folder that is open to all.
func TestClosedToOthers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	s := open(t, folder, sqlite.Options{})
	history(t, s, "talk", 10)
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 4 {
		t.Fatalf("the folder has %v: %v", entries, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v: %v", e.Name(), info.Mode(), err)
		}
	}
}
