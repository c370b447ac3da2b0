//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// system lists what the command may read of the system: its programs, and the settings that these need. Nothing of it is
// a secret on any system. What does not exist is left out; a link stays a link.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types",
}

// devices lists the devices that the command gets.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// files are the files that every sandbox has.
var files = map[string]string{
	"/etc/passwd":        "agent:x:" + id + ":" + id + ":agent:" + Scratch + ":/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
	"/etc/group":         "agent:x:" + id + ":\nnogroup:x:65534:\n",
	"/etc/hosts":         "127.0.0.1 localhost sandbox\n::1 localhost\n",
	"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	"/etc/hostname":      "sandbox\n",
}

var id = strconv.Itoa(insideID)

// links are the links that every sandbox has. Shared memory is a part of the scratch folder, so that one bound holds.
var links = map[string]string{
	"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
	"/dev/shm": Scratch, "/var/tmp": Scratch,
}

// buildRoot gives this process a file system of its own: the system's programs, the folder, and nothing else.
func buildRoot(s *setup) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return step("separating the mounts", err)
	}
	r := &root{}
	for _, p := range system {
		if err := r.take(p, readable); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return step("reading "+p, err)
		}
	}
	for _, p := range devices {
		if err := r.take(p, device); err != nil {
			return step("reading "+p, err)
		}
	}
	for i, p := range s.Readable {
		if err := r.take(path.Clean(p), readable); err != nil {
			return step("reading readable folder "+strconv.Itoa(i+1), err)
		}
	}
	if s.Folder != "" {
		if err := r.workspace(s); err != nil {
			return step("reading the workspace", err)
		}
	}
	return r.enter(&s.Limits)
}

// attributes are those of a kind of mount. None of them lets a program gain the rights of its owner.
type attributes uint64

const (
	readable attributes = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	writable attributes = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	device   attributes = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
)

// root is a file system that is being made.
type root struct{ parts []part }

// part is a mount or a link that the new root gets.
type part struct {
	// at is its path inside.
	at string
	// tree is the mount; -1 for a link, which leads to link.
	tree   int
	link   string
	folder bool
}

// take adds a file or folder at the same path.
func (r *root) take(p string, a attributes) error {
	info, err := os.Lstat(p)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(p)
		r.parts = append(r.parts, part{at: p, tree: -1, link: to})
		return err
	}
	return r.mount(unix.AT_FDCWD, p, p, a, info.IsDir())
}

// workspace adds the folder, and the parts of it that may not change as mounts over it.
func (r *root) workspace(s *setup) error {
	a := writable
	if s.ReadOnly {
		a = readable
	}
	if err := r.mount(unix.AT_FDCWD, s.Folder, Workspace, a, true); err != nil {
		return err
	}
	folder, err := unix.Open(s.Folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(folder)
	for _, p := range s.Protected {
		if err := r.protect(folder, path.Clean(p)); err != nil {
			return err
		}
	}
	return nil
}

// protect closes a path of the folder to changes. Each folder above it becomes a mount too, because a folder that is none
// can be renamed, and another one put in its place.
func (r *root) protect(folder int, p string) error {
	for i := 0; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		a := writable
		if i == len(p) {
			a = readable
		}
		there, err := r.cover(folder, p[:i], a)
		if err != nil || !there {
			return err
		}
	}
	return nil
}

// cover mounts a path of the folder over itself. A command before this one may have put a link there, so none is followed.
func (r *root) cover(folder int, p string, a attributes) (there bool, err error) {
	fd, err := unix.Openat2(folder, p, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil || info.Mode&unix.S_IFMT == unix.S_IFLNK {
		return false, err
	}
	return true, r.mount(fd, "", path.Join(Workspace, p), a, info.Mode&unix.S_IFMT == unix.S_IFDIR)
}

// mount copies the mounts at a path, with all mounts below it.
func (r *root) mount(dir int, from, at string, a attributes, folder bool) error {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW)
	if from == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	if at == Workspace {
		flags &^= unix.AT_SYMLINK_NOFOLLOW // the user may name the folder by a link
	}
	tree, err := unix.OpenTree(dir, from, flags)
	if err != nil {
		return err
	}
	set := &unix.MountAttr{Attr_set: uint64(a), Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, set); err != nil {
		_ = unix.Close(tree)
		return err
	}
	r.parts = append(r.parts, part{at: at, tree: tree, folder: folder})
	return nil
}

// enter makes the new root and leaves the old one behind.
func (r *root) enter(l *Limits) error {
	// The new root needs a place in the old one for a moment. All that is taken over is open already.
	const place = "/dev"
	const plain = unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("sandbox", place, "tmpfs", plain, "mode=0755,size=1m,nr_inodes=4096"); err != nil {
		return step("mounting the sandbox's root", err)
	}
	if err := os.Mkdir(place+Scratch, 0o755); err != nil { //nolint:gosec // a mount hides it
		return step("filling the sandbox's root", err)
	}
	size := "mode=0700,size=" + strconv.FormatInt(l.Scratch, 10) + ",nr_inodes=" + strconv.FormatInt(1000+l.Scratch/16384, 10)
	if err := unix.Mount("scratch", place+Scratch, "tmpfs", plain, size); err != nil {
		return step("mounting the scratch folder", err)
	}
	if err := r.fill(place); err != nil {
		return step("filling the sandbox's root", err)
	}
	for _, p := range r.parts {
		if p.tree < 0 {
			continue
		}
		if err := unix.MoveMount(p.tree, "", unix.AT_FDCWD, place+p.at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return step("mounting "+p.at, err)
		}
		_ = unix.Close(p.tree)
	}
	// Only the processes: no settings of the kernel, which the system's own user could change.
	if err := unix.Mount("proc", place+"/proc", "proc", plain|unix.MS_NOEXEC|unix.MS_RDONLY, "subset=pid"); err != nil {
		return step("mounting /proc", err)
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, place, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return step("closing the sandbox's root", err)
	}
	if err := os.Chdir(place); err != nil {
		return step("entering the sandbox's root", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return step("entering the sandbox's root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return step("leaving the system's root", err)
	}
	return step("entering the sandbox's root", os.Chdir("/"))
}

// fill makes the files, the links and the places of the mounts below a folder.
func (r *root) fill(place string) error {
	for _, dir := range []string{"/proc", "/etc", "/var", "/dev"} {
		if err := os.MkdirAll(place+dir, 0o755); err != nil { //nolint:gosec // the command's own user reads it
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(place+name, []byte(text), 0o444); err != nil { //nolint:gosec // the command reads it
			return err
		}
	}
	for name, to := range links {
		if err := os.Symlink(to, place+name); err != nil {
			return err
		}
	}
	for _, p := range r.parts {
		if strings.HasPrefix(p.at, Workspace+"/") || r.within(p.at) {
			continue // it stands in a mount, and exists there
		}
		at := place + p.at
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // the command's own user reads it
			return err
		}
		var err error
		switch {
		case p.tree < 0:
			err = os.Symlink(p.link, at)
		case p.folder:
			err = os.Mkdir(at, 0o755) //nolint:gosec // a mount hides it
		default:
			err = os.WriteFile(at, nil, 0o444) //nolint:gosec // a mount hides it
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// within reports whether a path stands in a folder that another part brings.
func (r *root) within(at string) bool {
	for _, p := range r.parts {
		if p.tree >= 0 && p.folder && strings.HasPrefix(at, p.at+"/") {
			return true
		}
	}
	return false
}
