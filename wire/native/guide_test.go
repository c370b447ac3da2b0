package native_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/braidrun/braid/wire/native"
)

// The guide names every frame, and every field of it.
func TestGuideNamesTheFrames(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide", "native-stream.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.SplitSeq(string(page), "\n") {
		if name, row, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok && strings.HasPrefix(line, "| `") {
			rows[name] = row
		}
	}
	anywhere := reflect.TypeFor[native.Place]() // said of all frames at once
	var fields func(ty reflect.Type) []string
	fields = func(ty reflect.Type) (names []string) {
		for f := range ty.Fields() {
			if f.Anonymous {
				if f.Type != anywhere {
					names = append(names, fields(f.Type)...)
				}
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
		return names
	}
	for _, f := range all() {
		row, ok := rows[f.FrameName()]
		if !ok {
			t.Errorf("the guide does not name %s", f.FrameName())
		}
		for _, field := range fields(reflect.TypeOf(f).Elem()) {
			if !strings.Contains(row, "`"+field+"`") {
				t.Errorf("the guide does not name %s of %s", field, f.FrameName())
			}
		}
	}
}
