package pg

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/braidrun/braid/event"
)

// PostgreSQL's error codes: https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	Unique        = "23505"
	BadText       = "22021"
	ReadOnly      = "25006"
	DiskFull      = "53100"
	NoConnections = "53300"

	idle       = "25P03"
	noDatabase = "3D000"
	noSchema   = "3F000"
	serialize  = "40001"
	deadlock   = "40P01"
	permission = "42501"
	noColumn   = "42703"
	noSetting  = "42704"
	noFunction = "42883"
	noTable    = "42P01"
	tooLarge   = "54000"
	lockWait   = "55P03"
	cancelled  = "57014"
)

// Code returns PostgreSQL's code of an error, or "" if the error is not PostgreSQL's.
func Code(err error) string {
	if p, ok := errors.AsType[*pgconn.PgError](err); ok {
		return p.Code
	}
	return ""
}

// IsConnect reports whether no connection could be made.
func IsConnect(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}

// GaveWay reports whether the database gave a transaction up for the sake of another one.
func GaveWay(err error) bool {
	c := Code(err)
	return c == deadlock || c == serialize
}

// Cut reports whether the connection is dead, or was about to be. It is false if there never was one.
func Cut(err error) bool {
	if IsConnect(err) {
		return false
	}
	var network net.Error
	c := Code(err)
	return strings.HasPrefix(c, "57P") || strings.HasPrefix(c, "08") || c == idle || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network) && !network.Timeout()
}

// AtWork returns the error of a database that was open. Rights, tables and databases that are missing now are the
// operator's trouble, and pass: the caller has no less right, and what it asks for is no less there.
func AtWork(err error) error {
	e, ok := errors.AsType[*event.Error](err)
	if !ok || Code(e.Err) == "" {
		return err
	}
	switch e.Kind {
	case event.ErrPermission, event.ErrNotFound, event.ErrUnsupported:
		passing := *e
		passing.Kind = event.ErrUnavailable
		return &passing
	}
	return err
}
