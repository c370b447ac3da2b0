package front

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/braidrun/braid/internal/hostcheck"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/service"
	"github.com/braidrun/braid/wire/native"
)

// Route is the only route of a wire: clients post to it, and its errors have the form of the native API.
type Route struct {
	// Path is the route's, below the base path.
	Path string
	// Answer answers a request whose caller may write.
	Answer func(x *Exchange, body []byte) error
}

// New makes the handler of a wire with one route.
func New(o Options, rt Route) http.Handler {
	o = o.WithDefaults()
	cross := hostcheck.Cross{
		Origins: o.Origins, Methods: http.MethodPost, Headers: "Authorization, Content-Type, Traceparent, Tracestate",
		Expose: "RateLimit, RateLimit-Policy, Retry-After, X-Conversation-Id, X-Run-Id",
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != o.Base+rt.Path {
			o.Next.ServeHTTP(w, r)
			return
		}
		x := &Exchange{Options: &o, W: w, R: r, Route: rt.Path}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		x.Serve(func() error { return x.post(&cross, rt.Answer) }, x.refuse)
	})
}

// post checks a request, reads its body and has it answered.
func (x *Exchange) post(cross *hostcheck.Cross, answer func(*Exchange, []byte) error) error {
	answered, err := Foreign(x.W, x.R, x.Options.Hosts, x.Options.Origins, cross)
	if answered {
		x.Status = http.StatusNoContent
	}
	if err != nil || answered {
		return err
	}
	if x.R.Method != http.MethodPost {
		x.W.Header().Set("Allow", http.MethodPost)
		x.Head(http.StatusMethodNotAllowed)
		return nil
	}
	if err := x.authenticate(); err != nil {
		return err
	}
	if err := x.Options.Door.Pass(x.R.Context(), &x.Who, x.W.Header()); err != nil {
		return err
	}
	body, err := x.Body(x.authenticate)
	if err != nil {
		return err
	}
	return answer(x, body)
}

// authenticate checks the bearer token.
func (x *Exchange) authenticate() (err error) {
	token, given := strings.CutPrefix(x.R.Header.Get("Authorization"), "Bearer ")
	if !given {
		token = ""
	}
	if x.Who, err = x.Options.Door.OpenFor(x.R, secret.New(token)); err != nil {
		return err
	}
	return x.Who.Require(service.ScopeWrite)
}

// refuse answers with an error in the form of the native API.
func (x *Exchange) refuse(err error) {
	detail, status := native.ErrorOf(err)
	x.Refuse(err, status, detail.Code)
	head := x.W.Header()
	if status == http.StatusUnauthorized {
		head.Set("WWW-Authenticate", `Bearer realm="braid"`)
	}
	head.Set("Content-Type", "application/json")
	x.Head(status)
	_ = json.NewEncoder(x.W).Encode(native.ErrorBody{Error: detail}) //nolint:errchkjson // who does not read it any more needs no error
}
