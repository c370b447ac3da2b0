//go:build amd64 || arm64

package sandbox

import (
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lastReviewed is the last system call that the lists below were made for. Every later one is refused as unknown.
const lastReviewed = unix.SYS_MSEAL

// forbidden are system calls that change the system, look into other processes or reach parts of the kernel that programs
// in a sandbox do not need. Most need a capability that the command does not have; the filter holds where a kernel has a hole.
var forbidden = []uint32{
	// File systems and namespaces.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_OPEN_TREE,
	unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	// The kernel.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_SYSLOG, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
	// The machine.
	unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
	unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_VHANGUP,
}

// absent are system calls that programs are told do not exist, so that they use others: those whose arguments the filter
// cannot see, and those for memory that belongs to no process and so is not counted.
var absent = []uint32{
	unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET,
}

const (
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
		unix.CLONE_NEWCGROUP
	// ownersRights are the bits of a mode that give a program the rights of its owner: here, of the user of this program.
	ownersRights = unix.S_ISUID | unix.S_ISGID
	// makesFile are the flags of open with which its mode counts.
	makesFile = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// The offsets in what a filter sees of a system call: struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// argument returns where the lower half of an argument is; both processors store it first.
func argument(n uint32) uint32 { return dataArgs + 8*n }

// refuse is the answer of a filter that makes a call fail with an error.
func refuse(e syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

const allow = unix.SECCOMP_RET_ALLOW

// program is a filter that is being made.
type program []unix.SockFilter

func (p *program) load(offset uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (p *program) answer(with uint32) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with})
}

// unless skips the next n instructions unless the comparison with k holds.
func (p *program) unless(compare uint16, k uint32, n int) {
	*p = append(*p, unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: k, Jf: uint8(n)})
}

// when answers calls with this number by body, which ends with an answer.
func (p *program) when(number uint32, body func(b *program)) {
	var b program
	body(&b)
	p.unless(unix.BPF_JEQ, number, len(b))
	*p = append(*p, b...)
}

// bits refuses a call if its argument has one of the bits in mask.
func (p *program) bits(number, arg, mask uint32) {
	p.when(number, func(b *program) {
		b.load(argument(arg))
		b.unless(unix.BPF_JSET, mask, 1)
		b.answer(refuse(unix.EPERM))
		b.answer(allow)
	})
}

// opens refuses to make a file with its owner's rights.
func (p *program) opens(number, flags uint32) {
	p.when(number, func(b *program) {
		b.load(argument(flags))
		b.unless(unix.BPF_JSET, makesFile, 3)
		b.load(argument(flags + 1))
		b.unless(unix.BPF_JSET, ownersRights, 1)
		b.answer(refuse(unix.EPERM))
		b.answer(allow)
	})
}

// one answers a call by one of its arguments: listed values get the answer some, all others the answer rest.
func (p *program) one(number, arg uint32, listed []uint32, some, rest uint32) {
	p.when(number, func(b *program) {
		b.load(argument(arg))
		for _, v := range listed {
			b.unless(unix.BPF_JEQ, v, 1)
			b.answer(some)
		}
		b.answer(rest)
	})
}

// filterProgram returns the filter of the command's system calls.
func filterProgram() ([]unix.SockFilter, error) {
	var p program
	p.load(dataArch)
	p.unless(unix.BPF_JEQ, auditArch, 1)
	p = append(p, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 1})
	p.answer(unix.SECCOMP_RET_KILL_PROCESS)
	p.load(dataNumber)
	p.unless(unix.BPF_JGT, lastReviewed, 1) // on x86-64 also the calls of its third interface, x32
	p.answer(refuse(unix.ENOSYS))
	for _, number := range absent {
		p.when(number, func(b *program) { b.answer(refuse(unix.ENOSYS)) })
	}
	for _, number := range slices.Concat(forbidden, alsoForbidden) {
		p.when(number, func(b *program) { b.answer(refuse(unix.EPERM)) })
	}
	p.bits(unix.SYS_CLONE, 0, newNamespaces)
	p.bits(unix.SYS_FCHMOD, 1, ownersRights)
	p.bits(unix.SYS_FCHMODAT, 2, ownersRights)
	p.bits(unix.SYS_FCHMODAT2, 2, ownersRights)
	p.bits(unix.SYS_MKNODAT, 2, ownersRights)
	p.opens(unix.SYS_OPENAT, 2)
	p.legacy()
	p.one(unix.SYS_IOCTL, 1, []uint32{unix.TIOCSTI, tiocLinux, unix.TIOCCONS}, refuse(unix.EPERM), allow)
	p.one(unix.SYS_PERSONALITY, 0, []uint32{0, 0xffffffff}, allow, refuse(unix.EPERM))
	p.when(unix.SYS_SOCKET, func(b *program) {
		b.load(argument(0))
		for _, family := range []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6} {
			b.unless(unix.BPF_JEQ, family, 1)
			b.answer(allow)
		}
		b.unless(unix.BPF_JEQ, unix.AF_NETLINK, 3)
		b.load(argument(2))
		b.unless(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1) // resolvers list the addresses
		b.answer(allow)
		b.answer(refuse(unix.EAFNOSUPPORT))
	})
	p.answer(allow)
	const most = 4096
	if len(p) > most {
		return nil, unix.E2BIG
	}
	return p, nil
}

const tiocLinux = 0x541c

// applyFilter gives this thread, and what it starts, a filter.
func applyFilter(filter []unix.SockFilter) error {
	p := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	//nolint:gosec // the system call reads it
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
}
