package mcptool

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// stray is a process that a server's program has started. The time of its start tells it from a later process of its number.
type stray struct {
	pid   int
	start string
}

// straysOf lists the descendants of a program. Those in its group are listed too: one of them may leave the group before that is
// ended. What has been given to another parent, because its own has ended, is not found.
func straysOf(program int) []stray {
	type entry struct {
		parent int
		start  string
	}
	all := map[int]entry{}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // as far as they can be read
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if fields := statOf(pid); len(fields) > startTime {
			parent, _ := strconv.Atoi(fields[1])
			all[pid] = entry{parent, fields[startTime]}
		}
	}
	var list []stray
	for pid, e := range all {
		if pid == program {
			continue
		}
		for up, steps := e.parent, 0; up > 1 && steps < len(all); up, steps = all[up].parent, steps+1 {
			if up == program {
				list = append(list, stray{pid, e.start})
				break
			}
		}
	}
	return list
}

// startTime is where the time of the start stands in what statOf gives (proc_pid_stat(5): 22 of all fields).
const startTime = 19

// statOf gives the fields of a process's stat behind its name.
func statOf(pid int) []string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	text := string(raw)
	return strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
}

// end kills the process, if it is still the one that was found.
func (s stray) end() {
	if fields := statOf(s.pid); len(fields) > startTime && fields[startTime] == s.start {
		_ = syscall.Kill(s.pid, syscall.SIGKILL)
	}
}
