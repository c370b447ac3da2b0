package sandbox

import (
	"os"
	"testing"
)

// The kernel's bound must never be set where it is the whole system's.
func TestReleases(t *testing.T) {
	t.Parallel()
	for release, is := range map[string]bool{
		"6.14.0": true, "6.18.44-fc": true, "7.0": true, "10.2.1": true, "6.13.9": false, "6.2.14": false, "5.15.0-91-generic": false,
		"": false, "6": false, "x6.18": false, "6.": false, "6.14rc1": true, "99999999999999999999.1": true,
	} {
		if reaches(release, 6, 14) != is {
			t.Errorf("%q reaches 6.14: %v", release, !is)
		}
	}
}

func TestTheSystemKeepsItsProcesses(t *testing.T) { //nolint:paralleltest // it looks at the whole system
	before, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		t.Skip(err)
	}
	s := Options{Folder: t.TempDir(), Args: []string{"/bin/true"}, Limits: Limits{Processes: 5}}
	if _, err := Run(t.Context(), s); err != nil {
		t.Skip(err) // other tests say why there is no sandbox
	}
	after, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil || string(after) != string(before) {
		t.Errorf("the system's bound was %s, and is %s now: %v", before, after, err)
	}
}
