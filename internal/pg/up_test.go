package pg_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/braidrun/braid/internal/pg"
	"github.com/braidrun/braid/journal/postgres/postgrestest"
)

func folder(texts ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i, text := range texts {
		out["0000"+string(rune('1'+i))+"_x.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)}
	}
	return out
}

// Files are applied once, in order, each wholly or not at all, in a database that goose has begun as in an empty one; and goose
// goes on with what was done here.
func TestRun(t *testing.T) {
	t.Parallel()
	server := start(t)
	const (
		one = `CREATE TABLE a (n int); INSERT INTO a VALUES (1);`
		// The words of goose around statements are comments to PostgreSQL.
		two = "-- +goose StatementBegin\nCREATE FUNCTION add() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO a VALUES (2); END $$;\n" +
			"-- +goose StatementEnd\nSELECT add();"
		three = `INSERT INTO a VALUES (3);`
	)
	for name, begun := range map[string]bool{"empty": false, "of goose": true} {
		conn, config := connect(t, server, strings.ReplaceAll(name, " ", "_"))
		if begun {
			up(t, config, folder(one))
		}
		for range 2 { // the second time changes nothing
			if err := pg.Up(t.Context(), conn, folder(one, two), "versions"); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		// A file that fails leaves nothing, also of its first statements; the error says which, and is the database's.
		err := pg.Up(t.Context(), conn, folder(one, two, three+`SELECT 1/0;`), "versions")
		var theirs *pgconn.PgError
		if !errors.As(err, &theirs) || theirs.Code != "22012" || !strings.HasPrefix(err.Error(), "00003_x.sql: ") {
			t.Errorf("%s: %v", name, err)
		}
		up(t, config, folder(one, two, three))
		if err := pg.Up(t.Context(), conn, folder(one, two, three), "versions"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for query, want := range map[string][]int64{
			`SELECT n FROM a ORDER BY n`:                                   {1, 2, 3},
			`SELECT version_id FROM versions WHERE is_applied ORDER BY id`: {0, 1, 2, 3},
		} {
			rows, _ := conn.Query(t.Context(), query)
			got, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %s: %v, %s", name, query, err, diff)
			}
		}
	}
}

func TestFilesWithoutTheirNumbers(t *testing.T) {
	t.Parallel()
	server := start(t)
	conn, _ := connect(t, server, "numbers")
	for _, names := range [][]string{{"00002_x.sql"}, {"00001_x.sql", "00003_x.sql"}, {"00001_x.sql", "1_y.sql"}, {"x.sql"}} {
		files := fstest.MapFS{}
		for _, name := range names {
			files[name] = &fstest.MapFile{Data: []byte(`CREATE TABLE must_not_be (n int)`)}
		}
		if err := pg.Up(t.Context(), conn, files, "versions"); err == nil {
			t.Errorf("%q pass", names)
		}
	}
}

// start starts a server where BRAID_POSTGRES asks for one: make test needs nothing but Go.
func start(t *testing.T) *postgrestest.Server {
	t.Helper()
	asked := os.Getenv("BRAID_POSTGRES")
	if asked == "" {
		t.Skip("BRAID_POSTGRES is not set")
	}
	server, err := postgrestest.New(t.Context())
	if errors.Is(err, postgrestest.ErrMissing) && asked != "required" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func connect(t *testing.T, server *postgrestest.Server, name string) (*pgx.Conn, *pgx.ConnConfig) {
	t.Helper()
	config, err := pgx.ParseConfig(server.URL(postgrestest.Superuser, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["search_path"] = name
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `CREATE SCHEMA `+name); err != nil {
		t.Fatal(err)
	}
	return conn, config
}

// up is what goose does.
func up(t *testing.T, config *pgx.ConnConfig, files fstest.MapFS) {
	t.Helper()
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName("versions"), goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = provider.Up(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}
