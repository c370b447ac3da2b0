package lazyre_test

import (
	"sync"
	"testing"

	"github.com/braidrun/braid/internal/lazyre"
)

func TestAnExpression(t *testing.T) {
	t.Parallel()
	r := lazyre.New(`a(b+)`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := r.FindStringSubmatch("xabbb"); len(got) != 2 || got[1] != "bbb" || !r.MatchString("ab") || r.MatchString("b") {
				t.Errorf("%q", got)
			}
		})
	}
	all.Wait()
	if got := r.ReplaceAllString("abab", "-"); got != "--" || r.String() != "a(b+)" {
		t.Errorf("%q, %q", got, r)
	}
}

func TestAWrongExpression(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("it does not panic in a test")
		}
	}()
	lazyre.New(`(`)
}
