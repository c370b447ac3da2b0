package meter

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ticks is how many of the kernel's ticks make a second, in what it tells programs (USER_HZ).
const ticks = 100

// used reads /proc.
func used() (u usage) {
	u.stat()
	u.open = descriptors("/proc/self/fd")
	u.mostOpen, u.mostVirtual = most(syscall.RLIMIT_NOFILE), most(syscall.RLIMIT_AS)
	u.received, u.sent = octets()
	return u
}

// stat reads what the kernel says of the process in one line (man 5 proc_pid_stat).
func (u *usage) stat() {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	// The name of the program, in parentheses, may hold anything. What follows begins with the third field.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	field := func(n int) *float64 {
		if n -= 3; n >= len(fields) {
			return nil
		}
		return parsed(fields[n])
	}
	if user, system := field(14), field(15); user != nil && system != nil {
		u.cpu = new((*user + *system) / ticks)
	}
	if begun, boot := field(22), booted(); begun != nil && boot != nil {
		u.started = new(*boot + *begun/ticks)
	}
	u.virtual = field(23)
	if pages := field(24); pages != nil {
		u.resident = new(*pages * float64(os.Getpagesize()))
	}
}

// booted is when the system began.
func booted() *float64 {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if at, ok := strings.CutPrefix(line, "btime "); ok {
			return parsed(strings.TrimSpace(at))
		}
	}
	return nil
}

// octets reads how much the network that the process is in has received and sent. The file has lines in pairs:
// the names, and their values.
func octets() (received, sent *float64) {
	data, err := os.ReadFile("/proc/self/net/netstat")
	if err != nil {
		return nil, nil
	}
	lines := strings.Split(string(data), "\n")
	for i := 1; i < len(lines); i += 2 {
		names, values := strings.Fields(lines[i-1]), strings.Fields(lines[i])
		if len(names) == 0 || names[0] != "IpExt:" || len(values) != len(names) {
			continue
		}
		for n, name := range names {
			switch name {
			case "InOctets":
				received = parsed(values[n])
			case "OutOctets":
				sent = parsed(values[n])
			}
		}
	}
	return received, sent
}

func parsed(s string) *float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return &v
}
