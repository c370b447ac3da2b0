package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// alsoForbidden are system calls that only this processor has.
var alsoForbidden []uint32

// legacy covers the older forms of calls, of which this processor has none.
func (p *program) legacy() {}
