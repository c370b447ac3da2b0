//go:build amd64 || arm64

package sandbox_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attack runs inside a sandbox. It writes what it reached; a sandbox that holds leaves it silent.
func attack(name string, args []string) int {
	switch name {
	case "calls":
		forbiddenCalls()
	case "first":
		firstProcess()
	case "connect":
		connect(args)
	case "write":
		write(args)
	case "rights":
		ownersRights(args[0])
	case "memory":
		n, _ := strconv.Atoi(args[0])
		take(n << 20)
	case "threads":
		n, _ := strconv.Atoi(args[0])
		for range n {
			go func() {
				var ts unix.Timespec
				_, _ = unix.FcntlInt(0, unix.F_GETFD, 0)
				ts.Sec = 100
				_, _, _ = syscall.Syscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
			}()
		}
		select {}
	case "loopback":
		loopback()
	case "run":
		return runUntilKilled(args[0])
	default:
		fmt.Println("there is no attack", name)
	}
	return 0
}

// forbiddenCalls makes system calls that a sandbox refuses, whatever their arguments are.
func forbiddenCalls() {
	for name, call := range map[string][4]uintptr{
		"mount": {unix.SYS_MOUNT}, "umount": {unix.SYS_UMOUNT2}, "pivot_root": {unix.SYS_PIVOT_ROOT}, "chroot": {unix.SYS_CHROOT},
		"unshare": {unix.SYS_UNSHARE, unix.CLONE_NEWUSER}, "setns": {unix.SYS_SETNS}, "ptrace": {unix.SYS_PTRACE, unix.PTRACE_TRACEME},
		"bpf": {unix.SYS_BPF}, "perf_event_open": {unix.SYS_PERF_EVENT_OPEN}, "userfaultfd": {unix.SYS_USERFAULTFD, 1},
		"keyctl": {unix.SYS_KEYCTL}, "add_key": {unix.SYS_ADD_KEY}, "process_vm_readv": {unix.SYS_PROCESS_VM_READV, 1},
		"pidfd_getfd": {unix.SYS_PIDFD_GETFD}, "open_by_handle_at": {unix.SYS_OPEN_BY_HANDLE_AT}, "kexec_load": {unix.SYS_KEXEC_LOAD},
		"init_module": {unix.SYS_INIT_MODULE}, "reboot": {unix.SYS_REBOOT}, "open_tree": {unix.SYS_OPEN_TREE},
		"fsopen": {unix.SYS_FSOPEN}, "sethostname": {unix.SYS_SETHOSTNAME}, "syslog": {unix.SYS_SYSLOG, 10},
		"clone": {unix.SYS_CLONE, unix.CLONE_NEWUSER | uintptr(syscall.SIGCHLD)}, "personality": {unix.SYS_PERSONALITY, 0x40000},
		"ioctl": {unix.SYS_IOCTL, 0, unix.TIOCSTI}, "clone3": {unix.SYS_CLONE3}, "io_uring_setup": {unix.SYS_IO_URING_SETUP, 1},
		"openat2": {unix.SYS_OPENAT2}, "memfd_create": {unix.SYS_MEMFD_CREATE}, "shmget": {unix.SYS_SHMGET, 0, 4096, 0o1600},
		"packet socket": {unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW}, "vsock": {unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM},
		"audit": {unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, "a call of the future": {2000},
		"raw socket": {unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
	} {
		_, _, errno := syscall.Syscall(call[0], call[1], call[2], call[3])
		switch errno {
		case unix.EPERM, unix.ENOSYS, unix.EAFNOSUPPORT:
		default:
			fmt.Printf("%s gives %v\n", name, errno)
		}
	}
	if err := unix.Setuid(0); err == nil {
		fmt.Println("the command is root")
	}
	for _, file := range []string{"CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh"} {
		if got := status(file); strings.Trim(got, "0") != "" {
			fmt.Println(file, got)
		}
	}
	if status("NoNewPrivs") != "1" || status("Seccomp") != "2" {
		fmt.Println("the command may gain privileges, or has no filter")
	}
}

// status returns a line of /proc/self/status.
func status(name string) string {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "none"
}

// firstProcess looks into the process that watches the command, and signals it.
func firstProcess() {
	for _, file := range []string{"environ", "mem", "maps", "auxv", "root/etc/passwd", "fd/0", "fd/3", "fd/4", "exe"} {
		if data, err := os.ReadFile("/proc/1/" + file); err == nil {
			fmt.Printf("/proc/1/%s has %d bytes\n", file, len(data))
		}
	}
	for _, link := range []string{"cwd", "root", "exe"} {
		if to, err := os.Readlink("/proc/1/" + link); err == nil {
			fmt.Println("/proc/1/"+link, "is", to)
		}
	}
	if err := unix.PtraceAttach(1); !errors.Is(err, unix.EPERM) {
		fmt.Println("ptrace:", err)
	}
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTERM, syscall.SIGSEGV, syscall.SIGQUIT} {
		_ = unix.Kill(1, s)
	}
	// No process of the system has a number here.
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n != 1 && n != os.Getpid() && n != os.Getppid() {
			name, _ := os.ReadFile("/proc/" + e.Name() + "/comm")
			fmt.Printf("process %d is %s", n, name)
		}
	}
}

// connect tries to reach addresses of the form network=address.
func connect(addresses []string) {
	for _, one := range addresses {
		network, address, _ := strings.Cut(one, "=")
		c, err := net.Dial(network, address)
		if err == nil {
			if network == "udp" {
				_, err = c.Write([]byte("x")) // it has no connection, so only the receiver knows
			} else {
				fmt.Println("connected to", one)
			}
			_ = c.Close()
		}
		_ = err
	}
}

// loopback uses the sandbox's own network.
func loopback() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = c.Close()
}

// write tries to write files.
func write(paths []string) {
	for _, path := range paths {
		if err := os.WriteFile(path, []byte("broken out"), 0o666); err == nil {
			fmt.Println("wrote", path)
		}
		if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
			fmt.Println("read", path)
		}
	}
}

// ownersRights tries to leave a program behind that runs as the user outside.
func ownersRights(file string) {
	if err := os.WriteFile(file, nil, 0o755); err != nil {
		fmt.Println(err)
	}
	fd, err := unix.Open(file, unix.O_RDWR, 0)
	if err != nil {
		fmt.Println(err)
	}
	for name, err := range map[string]error{
		"chmod": unix.Chmod(file, 0o4755), "fchmod": unix.Fchmod(fd, 0o2755), "fchmodat": unix.Fchmodat(unix.AT_FDCWD, file, 0o6755, 0),
		"fchmodat2": unix.Fchmodat(unix.AT_FDCWD, file, 0o4755, unix.AT_SYMLINK_NOFOLLOW),
		"mknod":     unix.Mknod(file+"1", unix.S_IFREG|0o4755, 0), "mkfifo": unix.Mkfifo(file+"2", 0o2755),
	} {
		if err == nil {
			fmt.Println(name, "gave a file its owner's rights")
		}
	}
	if _, err := unix.Open(file+"3", unix.O_CREAT|unix.O_WRONLY, 0o4755); err == nil {
		fmt.Println("open gave a file its owner's rights")
	}
	if _, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o4755); err == nil {
		fmt.Println("a nameless file has its owner's rights")
	}
	if err := os.Chmod(file, 0o700); err != nil {
		fmt.Println("a mode without such rights is refused too:", err)
	}
}

// take uses memory.
func take(n int) {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	select {}
}
