package archtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Migrations are numbered from 1 on, without gaps and without two of one number: PostgreSQL refuses two, and a file of
// SQLite runs them by their place.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"journal/postgres/migrations", "journal/sqlite/migrations", "service/database/postgres", "service/database/sqlite"} {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.sql"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for i, file := range files { // in the order of their names
			number, _, _ := strings.Cut(filepath.Base(file), "_")
			if n, err := strconv.Atoi(number); err != nil || n != i+1 {
				t.Errorf("%s/%s is the migration %d", folder, filepath.Base(file), i+1)
			}
			if info, err := os.Stat(file); err != nil || info.Size() == 0 {
				t.Errorf("%s is empty: %v", file, err)
			}
		}
	}
}
