package openapitool_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/secret"
	"github.com/braidrun/braid/tool/openapitool"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Println(r.Method, r.URL, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"city":"Lisbon","sky":"sunny"}`)
	}))
	defer server.Close()

	api, err := openapitool.Load([]byte(`
openapi: 3.1.0
info: {title: Weather, version: "1"}
paths:
  /forecast/{city}:
    get:
      operationId: forecast
      summary: Tells the weather.
      security: [{token: []}]
      parameters: [{name: city, in: path, required: true, schema: {type: string}}]
components:
  securitySchemes: {token: {type: http, scheme: bearer}}
`), openapitool.Options{
		Server:      server.URL,
		Credentials: map[string]openapitool.Credential{"token": {Token: secret.New("${WEATHER}")}},
		Fill:        func(context.Context, string) secret.Secret { return secret.New("a-token") },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer api.Close()

	model, err := demo.New(demo.Replies("weather",
		[]demo.Piece{demo.Call("forecast", `{"city":"Lisbon"}`)}, []demo.Piece{demo.Say("Take a hat.")}))
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := braid.New("weather", model, braid.From(api))
	result, err := agent.Run(context.Background(), "What will it be like in Lisbon?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// GET /forecast/Lisbon Bearer a-token
	// Take a hat.
}
