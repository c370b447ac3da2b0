package strictjson

import (
	"bytes"
	"encoding/json"
)

// Same reports whether two JSON values are the same but for white space. What is no JSON is the same as nothing.
func Same(a, b []byte) bool {
	var one, other bytes.Buffer
	return json.Compact(&one, a) == nil && json.Compact(&other, b) == nil && bytes.Equal(one.Bytes(), other.Bytes())
}
