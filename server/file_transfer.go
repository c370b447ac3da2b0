package server

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service/directory"
	"github.com/braidrun/braid/workspace"
)

// copied is how many bytes are sent at once.
const copied = 64 << 10

// send streams bytes, each write with a time of its own. After an error the connection is cut.
func (s *Server) send(w http.ResponseWriter, r io.Reader) error {
	control, buffer := http.NewResponseController(w), make([]byte, copied)
	for {
		n, err := r.Read(buffer)
		_ = control.SetWriteDeadline(time.Now().Add(s.options.WriteTime)) // where there are no deadlines, TCP's are left
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return nil //nolint:nilerr // who does not read it any more needs no error
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// dispositionOf returns a Content-Disposition with a name (RFC 6266). The plain form is for clients without RFC 8187.
func dispositionOf(name string) string {
	plain := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || strings.ContainsRune(`"\%`, c) {
			return '_'
		}
		return c
	}, name)
	value := `attachment; filename="` + plain + `"`
	if plain == name {
		return value
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return value + "; filename*=UTF-8''" + b.String()
}

// conditionOf reads If-Match and If-None-Match (RFC 9110, section 13.1).
func conditionOf(r *http.Request) (c workspace.Condition, err error) {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if none != "" {
		if c.Absent = none == "*"; !c.Absent {
			return c, front.Bad("the header If-None-Match is not *", "send If-None-Match: * to write a new file only")
		}
	}
	if match != "" {
		if c.Version, err = strconv.Unquote(match); err != nil || match[0] != '"' || c.Version == "" {
			return c, front.Bad("the header If-Match is no entity tag", "send the version of the file in quotation marks")
		}
	}
	return c, nil
}

// uploadReader reads a request's body that goes into a file.
type uploadReader struct {
	server  *Server
	request *http.Request
	begun   time.Time
}

// Read implements io.Reader.
func (u *uploadReader) Read(p []byte) (int, error) {
	n, err := u.request.Body.Read(p)
	if err == io.EOF && time.Since(u.begun) > directory.Stale {
		// The credential of a slow sender may have ended meanwhile.
		if _, gone := u.server.door.Open(u.request.Context(), bearer(u.request)); gone != nil {
			return n, gone
		}
	}
	return n, err
}
