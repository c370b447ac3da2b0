package strictjson

import "testing"

func TestPointerSteps(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]string{"": "", "a": "a", "a/b": "a~1b", "m~n": "m~0n", "~1": "~01", "/~/": "~1~0~1"} {
		if got := EscapePointer(name); got != step {
			t.Errorf("%q is escaped as %q, want %q", name, got, step)
		}
		if got := UnescapePointer(step); got != name {
			t.Errorf("%q is read as %q, want %q", step, got, name)
		}
	}
}
