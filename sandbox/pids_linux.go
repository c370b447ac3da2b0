package sandbox

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// boundPIDs has the kernel refuse more processes than the watcher lets live. RLIMIT_NPROC does not count the processes of the
// system's root, and a fork bomb makes thousands before the watcher looks. Linux 6.14 and later have a bound of their own for each
// PID namespace; in a container with a read-only /proc/sys it stays as it is. On older kernels the file is the whole system's,
// so it is not touched.
func boundPIDs(processes int) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil || !reaches(unix.ByteSliceToString(name.Release[:]), 6, 14) {
		return
	}
	// The kernel gives out numbers up to 300 only once.
	most := 300 + processes + spareThreads
	_ = os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.Itoa(most)), 0) // the watcher bounds them, too
}

// reaches reports whether a kernel's release, such as "6.18.44-x", is at least major.minor.
func reaches(release string, major, minor int) bool {
	var numbers [2]int
	for i, at := 0, 0; i < len(release) && at < len(numbers); i++ {
		switch c := release[i]; {
		case c >= '0' && c <= '9' && numbers[at] < 1000:
			numbers[at] = 10*numbers[at] + int(c-'0')
		case c == '.' && at == 0:
			at++
		default:
			at = len(numbers)
		}
	}
	return numbers[0] > major || numbers[0] == major && numbers[1] >= minor
}
