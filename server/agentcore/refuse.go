package agentcore

import "errors"

// refuse responds with an error; if a response has begun, it can only cut the connection. The
// container endpoints use the Python program's form, the AWS endpoints the form that AWS's SDKs
// turn into typed errors.
func (x *exchange) refuse(err error) {
	f, body := x.explain(err)
	x.Refuse(err, f.status, codeOf(err, f))
	x.W.Header().Set(awsErrorType, f.exception)
	x.json(f.status, body)
}

// awsMessage is an error body for AWS's SDKs.
type awsMessage struct {
	Message string `json:"message"`
}

// explain returns the response to an error. It does not reveal causes.
func (x *exchange) explain(err error) (*fault, any) {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		f = faultOf(err)
	}
	if !x.door {
		return f, errorBody{f.message, f.hint}
	}
	if f.hint == "" {
		return f, awsMessage{f.message}
	}
	return f, awsMessage{f.message + ": " + f.hint}
}
