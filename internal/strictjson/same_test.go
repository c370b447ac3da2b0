package strictjson_test

import (
	"testing"

	"github.com/braidrun/braid/internal/strictjson"
)

func TestSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a": [1, 2]}`, `{"a":[1,2]}`, true},
		{`"a b"`, `"ab"`, false},
		{`{"a":1}`, `{"a":2}`, false},
		{`{`, `{`, false},
		{``, `null`, false},
	} {
		if got := strictjson.Same([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s are the same: %t", c.a, c.b, got)
		}
	}
}
