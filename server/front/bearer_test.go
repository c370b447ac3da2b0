package front_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/server/door"
	"github.com/braidrun/braid/server/front"
	"github.com/braidrun/braid/service"
)

// A token is a credential behind the scheme Bearer alone. Everything else is refused as an unknown token is, before the body
// is read.
func TestATokenNeedsItsScheme(t *testing.T) {
	t.Parallel()
	svc, err := service.New(service.Options{
		Journal: &journal.Memory{}, Rows: &service.MemoryRows{},
		Agent: func(context.Context, service.AgentRequest) (*braid.Agent, error) { return nil, event.ErrInternal },
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		authorization []string
		status        int
	}{
		"the scheme":         {[]string{"Bearer token"}, http.StatusOK},
		"no scheme":          {[]string{"token"}, http.StatusUnauthorized},
		"the scheme alone":   {[]string{"Bearer "}, http.StatusUnauthorized},
		"another scheme":     {[]string{"Basic token"}, http.StatusUnauthorized},
		"no space":           {[]string{"Bearertoken"}, http.StatusUnauthorized},
		"a space before it":  {[]string{" Bearer token"}, http.StatusUnauthorized},
		"the scheme twice":   {[]string{"Bearer Bearer token"}, http.StatusUnauthorized},
		"behind another one": {[]string{"token", "Bearer token"}, http.StatusUnauthorized},
		"another token":      {[]string{"Bearer tokens"}, http.StatusUnauthorized},
		"no header":          {nil, http.StatusUnauthorized},
	} {
		read := false
		h := front.New(front.Options{Door: door.New(secret.New("token"), "t", nil), Service: svc}, front.Route{
			Path: "/mine", Answer: func(x *front.Exchange, _ []byte) error {
				read = true
				x.Head(http.StatusOK)
				return nil
			},
		})
		r := httptest.NewRequest(http.MethodPost, "/mine", strings.NewReader("{}"))
		r.Host, r.Header["Authorization"] = "localhost", c.authorization
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || read != (c.status == http.StatusOK) {
			t.Errorf("%s: %d, body read: %t: %s", name, w.Code, read, w.Body)
		}
		if c.status == http.StatusUnauthorized &&
			(w.Header().Get("WWW-Authenticate") != `Bearer realm="braid"` || !strings.Contains(w.Body.String(), "UNAUTHENTICATED")) {
			t.Errorf("%s: %v %s", name, w.Header(), w.Body)
		}
	}
}
