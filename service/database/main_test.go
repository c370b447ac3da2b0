package database_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/service/database"
	"github.com/braidrun/braid/service/database/databasetest"
)

var databases databasetest.Databases

func TestMain(m *testing.M) { os.Exit(databases.Main(m)) }

// refused wants an error of the kind, in words that give nothing away.
func refused(t *testing.T, what string, err error, kind event.ErrorKind) {
	t.Helper()
	var e *event.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Message == "" || e.Hint == "" {
		t.Errorf("%s: %v (caused by %v), want %s with a hint", what, err, errors.Unwrap(err), kind)
		return
	}
	for _, secret := range []string{"SELECT", "INSERT", "SQLSTATE", "/", "braid_", "dial", "socket", "pgx", "password="} {
		if strings.Contains(strings.ReplaceAll(err.Error(), "postgres://role@host/database", ""), secret) {
			t.Errorf("%s: the error %q says %q", what, err, secret)
		}
	}
}

// as runs statements as a role, in the database's schema.
func as(t *testing.T, role string, o database.PostgresOptions, statements ...string) error {
	t.Helper()
	conn := databases.Login(t, role, o)
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			return err
		}
	}
	return nil
}

func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v, caused by %v", err, errors.Unwrap(err))
	}
}

func refusedWith(err error, code string) bool {
	var p *pgconn.PgError
	return errors.As(err, &p) && p.Code == code
}
