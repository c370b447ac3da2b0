package directory_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/service/directory/directorytest"
)

var databases databasetest.Databases

func TestMain(m *testing.M) { os.Exit(databases.Main(m)) }

// turned is no encryption: it binds a value to its place, and is seen not to be the value.
type turned struct{}

func (turned) Seal(plain, context []byte) ([]byte, error) {
	sealed := append(append([]byte{}, context...), 0)
	for _, b := range plain {
		sealed = append(sealed, ^b)
	}
	return sealed, nil
}

func (turned) Open(sealed, context []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, append(append([]byte{}, context...), 0))
	if !ok {
		return nil, errors.New("not of this place")
	}
	plain := make([]byte, 0, len(rest))
	for _, b := range rest {
		plain = append(plain, ^b)
	}
	return plain, nil
}

func open(tb testing.TB, db *database.DB) *directory.Directory {
	tb.Helper()
	d := directory.New(directory.Options{Database: db, Keys: turned{}, Environment: func(name string) string {
		return map[string]string{"BRAID_TEST_KEY": "from the environment"}[name]
	}})
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

func TestContract(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		directorytest.Run(t, func(t *testing.T) directorytest.Harness {
			t.Helper()
			return directorytest.Harness{Directory: open(t, databasetest.OpenMemory(t))}
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		databases.Server(t)
		directorytest.Run(t, func(t *testing.T) directorytest.Harness {
			t.Helper()
			o := databases.Postgres(t)
			o.Connections = 4
			return directorytest.Harness{
				Directory: open(t, databasetest.OpenPostgres(t, o)),
				Another:   func() *directory.Directory { return open(t, databasetest.OpenPostgres(t, o)) },
			}
		})
	})
}
