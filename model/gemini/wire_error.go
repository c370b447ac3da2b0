package gemini

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/braidrun/braid/model/internal/provider"
)

// wireError is an error as the API writes it (google.rpc.Status).
type wireError struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Status  string           `json:"status"`
	Details []map[string]any `json:"details"`
	// page is set for an error that is not the API's, such as a proxy's page.
	page bool
}

// Error implements error, for operators.
func (e *wireError) Error() string {
	return "the API gave an error: " + strconv.Itoa(e.Code) + " " + e.Status
}

// errorIn decodes an error: an object, or an array of one.
func errorIn(body []byte) *wireError {
	type answer struct {
		Error *wireError `json:"error"`
	}
	var list []answer
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '{' {
		list = make([]answer, 1)
		if json.NewDecoder(bytes.NewReader(body)).Decode(&list[0]) != nil {
			return nil //nolint:nilerr // the API did not say it
		}
	} else if json.NewDecoder(bytes.NewReader(body)).Decode(&list) != nil {
		return nil //nolint:nilerr // the API did not say it
	}
	if len(list) == 0 {
		return nil
	}
	return list[0].Error
}

// api returns the error in the form for operators.
func (e *wireError) api() *apiError {
	a := &apiError{status: e.Code, kind: e.Status, message: e.Message}
	if strings.ContainsAny(a.kind, " \t") {
		a.kind = ""
	}
	for _, d := range e.Details {
		if is(d, "google.rpc.ErrorInfo") {
			a.reason, _ = d["reason"].(string)
		}
	}
	return a
}

// apiError is an error of the API, for operators.
type apiError struct {
	status  int
	kind    string
	reason  string
	message string
}

// Error implements error.
func (e *apiError) Error() string {
	s := e.kind
	if e.reason != "" {
		s += " (" + e.reason + ")"
	}
	if e.status != 0 {
		s = strconv.Itoa(e.status) + " " + s
	}
	return s
}

// is reports whether a detail of an error is of this type.
func is(detail map[string]any, kind string) bool {
	s, _ := detail["@type"].(string)
	return strings.HasSuffix(s, "/"+kind)
}

// refused returns the error in a response with an error status.
func refused(r *provider.Refused) *wireError {
	said := errorIn(r.Body)
	if said == nil {
		said = &wireError{page: true}
		if text := bytes.TrimSpace(r.Body); !bytes.HasPrefix(text, []byte("<")) {
			said.Message = string(text)
		}
	}
	if said.Code == 0 {
		said.Code = r.Status
	}
	return said
}
