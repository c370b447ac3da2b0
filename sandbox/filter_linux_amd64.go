package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// alsoForbidden are system calls that only this processor has.
var alsoForbidden = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL,
	unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
}

// legacy covers the older forms of calls.
func (p *program) legacy() {
	p.bits(unix.SYS_CHMOD, 1, ownersRights)
	p.bits(unix.SYS_CREAT, 1, ownersRights)
	p.bits(unix.SYS_MKNOD, 1, ownersRights)
	p.opens(unix.SYS_OPEN, 1)
}
