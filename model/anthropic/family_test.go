package anthropic

import "testing"

// The windows stand on the vendor's page of each model.
func TestWindows(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"claude-opus-5": 1_000_000, "claude-sonnet-5": 1_000_000, "claude-sonnet-4-6": 1_000_000, "claude-opus-4-8": 1_000_000,
		"claude-haiku-5-5": 1_000_000, "claude-fable-5-1": 1_000_000, "claude-sonnet-4-5-20250929": 200_000, "claude-3-5-haiku": 200_000, "mine": 0,
	} {
		if got := window(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
