package house

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Migrations of a database have numbers one after the other, each once: two changes that were made
// beside each other may both have taken the next one.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"journal/sqlite/migrations", "journal/postgres/migrations", "service/database/sqlite", "service/database/postgres"} {
		files, err := filepath.Glob(filepath.Join("../..", folder, "*.sql")) // in the order of their names
		if err != nil || len(files) < 2 {
			t.Errorf("%s: %d files, %v", folder, len(files), err)
		}
		for i, file := range files {
			number, _, _ := strings.Cut(filepath.Base(file), "_")
			if n, err := strconv.Atoi(number); err != nil || n != i+1 {
				t.Errorf("%s is number %d", file, i+1)
			}
		}
	}
}
