package strictjson

import "strings"

// EscapePointer returns a name as a step of a JSON pointer (RFC 6901).
func EscapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// UnescapePointer returns the name that a step of a JSON pointer stands for.
func UnescapePointer(step string) string {
	return strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
}
