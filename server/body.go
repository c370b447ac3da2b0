package server

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidrun/braid/internal/cursor"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/service/directory"
)

// readBody decodes a JSON body into v. It refuses unknown names, names that come twice, data
// after the body, and an empty body unless mayBeEmpty is set.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, v any, mayBeEmpty bool) error {
	begun := time.Now()
	data, err := door.ReadBody(w, r, s.hold(w, r), s.options.BodyBytes)
	if err != nil {
		return err
	}
	if time.Since(begun) > directory.Stale {
		// The credential of a slow sender may have ended meanwhile.
		if _, err := s.door.Open(r.Context(), bearer(r)); err != nil {
			return err
		}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		if mayBeEmpty {
			return nil
		}
		return front.Bad("the body is empty", "send JSON")
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return &statusError{
			http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "the body is not said to be JSON", "send Content-Type: application/json",
		}
	}
	if bytes.TrimSpace(data)[0] != '{' && strictjson.Check(data, strictjson.DefaultDepth) == nil {
		return front.Bad("the body is not a JSON object", "/openapi.json says what it may hold")
	}
	if err := strictjson.Unmarshal(data, v); err != nil {
		return unreadable(err)
	}
	return nil
}

// hold counts the memory of the request's body, until [release] or the request's end.
func (s *Server) hold(w http.ResponseWriter, r *http.Request) *service.Hold {
	hold := s.service.Memory().Hold(who(r).Tenant)
	if a, ok := w.(*answer); ok {
		a.hold = hold
	}
	return hold
}

// release gives back the memory of the request's body.
func release(w http.ResponseWriter) {
	if a, ok := w.(*answer); ok {
		a.hold.Release()
	}
}

// unreadable returns the error for a body that cannot be decoded.
func unreadable(err error) error {
	return front.Bad("the body cannot be read: "+front.Unreadable(err), "send one JSON object, each name once; /openapi.json says what it may hold")
}

// longestValue bounds a parameter of an address.
const longestValue = cursor.Longest

// isText reports whether every database can keep it as text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// query reads the parameters of a request's address; one that is unknown or doubled
// is refused.
func query(r *http.Request, known ...string) (map[string]string, error) {
	values := make(map[string]string)
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, front.Bad("the parameters of the address cannot be read", "send them as name=value, percent-encoded, with & between them")
	}
	for name, list := range given {
		ok := false
		for _, k := range known {
			ok = ok || k == name
		}
		if !ok || len(list) != 1 {
			if len(name) > 100 {
				name = name[:100] + "…"
			}
			return nil, front.Bad("the parameter "+strconv.Quote(name)+" is unknown, or there twice", "/openapi.json says what there is")
		}
		if text := list[0]; len(text) > longestValue || !isText(text) {
			return nil, front.Bad("the parameter "+name+" is too long, or no text",
				"send at most "+strconv.Itoa(longestValue)+" bytes of UTF-8, without zero characters")
		}
		values[name] = list[0]
	}
	return values, nil
}

// number reads a parameter that is a number of at least 0.
func number(values map[string]string, name string, most int64) (int64, error) {
	text, ok := values[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, front.Bad("the parameter "+name+" is no number that it may be", "send one from 0 to "+strconv.FormatInt(most, 10))
	}
	return n, nil
}

// yesNo parses a boolean parameter.
func yesNo(values map[string]string, name string) (bool, error) {
	text, ok := values[name]
	if !ok {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, front.Bad("the parameter "+name+" is not a boolean", "send true or false")
	}
	return on, nil
}

// moment parses a parameter that is a time, or a day, which means its start in UTC.
func moment(name, text string) (time.Time, error) {
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil && t.Year() > 0 && t.Year() < 10000 {
			return t, nil
		}
	}
	return time.Time{}, front.Bad("the parameter "+name+" is not a time", "send one such as 2026-11-21 or 2026-11-21T07:00:00Z")
}
