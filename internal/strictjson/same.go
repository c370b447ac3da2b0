package strictjson

import (
	"bytes"
	"encoding/json"
)

// Same reports whether two JSON values differ at most in white space. A text that is not JSON
// equals nothing.
func Same(a, b []byte) bool {
	var one, other bytes.Buffer
	return json.Compact(&one, a) == nil && json.Compact(&other, b) == nil && bytes.Equal(one.Bytes(), other.Bytes())
}
