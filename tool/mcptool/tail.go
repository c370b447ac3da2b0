package mcptool

import (
	"strings"
	"sync"
)

// tail keeps the end of what is written to it: the last words of a program,
// however much it said before.
type tail struct {
	mu    sync.Mutex
	max   int
	buf   []byte
	total int
}

// Write never fails and never blocks: a child that floods its stderr is not
// held up, and fills no memory.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += len(p)
	if len(p) >= t.max {
		t.buf = append(t.buf[:0], p[len(p)-t.max:]...)
		return len(p), nil
	}
	if over := len(t.buf) + len(p) - t.max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	t.buf = append(t.buf, p...)
	return len(p), nil
}

// String is the end of the text, as valid UTF-8 and without half a line in front
// where something was dropped.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(t.buf)
	if t.total > len(t.buf) {
		if _, rest, ok := strings.Cut(s, "\n"); ok && rest != "" {
			s = rest
		}
		s = "…\n" + s
	}
	return strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
}
