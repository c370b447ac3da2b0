// Package openapitool makes the operations of an OpenAPI document into tools of an agent.
//
//	api, err := openapitool.Open(ctx, "petstore.yaml", openapitool.Options{
//		Credentials: map[string]openapitool.Credential{"api_key": {Token: secret.New("${PETSTORE_KEY}")}},
//	})
//	if err != nil { … }
//	agent := braid.New("helper", model, braid.From(api))
//
// The document may be OpenAPI 3.0, 3.1 or 3.2, as JSON or YAML. Each operation is a tool: its parameters and its body are the
// arguments, and the answer is the result.
//
// A model that has more than 50 operations of one API searches for them; SearchTools of package braid changes that number.
//
// # What the model chooses
//
// The model chooses the values of parameters and the body. It chooses neither host nor path: the server and its variables come
// from the document and from [Options], and what the model writes into a path stays one segment. Credentials are inserted
// after the arguments, are hidden in results, and are never arguments.
//
// # What repeating a call does
//
// GET and HEAD are pure, PUT and DELETE idempotent, all others unsafe unless [Options.IdempotencyHeader] is set. An answer
// with a status of 400 to 499 is an error result, which the model may mend. After 429 and 5xx, a call that may be repeated is
// repeated.
package openapitool
