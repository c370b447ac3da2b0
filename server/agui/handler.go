package agui

import (
	"net/http"

	"github.com/braidrun/braid/server/front"
)

// New makes a handler, which is safe for concurrent use. A caller needs a credential that may write.
func New(o front.Options) http.Handler {
	return front.New(o, front.Route{Path: "/agui", Answer: func(x *front.Exchange, body []byte) error {
		in, err := parse(body)
		if err != nil {
			return err
		}
		return answerInput(x, &in)
	}})
}
