package openapitool_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidrun/braid/tool/openapitool"
)

// BenchmarkLoad measures reading a document of 900 operations, about 2 MB. The bound is 300 ms on two quiet cores; cpu-ms/op is what
// other processes do not lengthen:
//
//	go test -run XXX -bench Load ./tool/openapitool
//
// scripts/test-peers openapi holds GitHub's document to the bound.
func BenchmarkLoad(b *testing.B) {
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var paths, schemas []string
	for i := range 900 {
		schemas = append(schemas, fmt.Sprintf(`"order%d":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"next":{"$ref":"#/components/schemas/order%d"},
			"lines":{"type":"array","items":{"allOf":[{"$ref":"#/components/schemas/order%d"},{"type":"object","properties":{"n":{"type":"integer","description":"%s"}}}]}}}}`,
			i, i/5*5+(i+1)%5, i/5*5, strings.Repeat("words of a long description ", 20)))
		paths = append(paths, fmt.Sprintf(`"/orders/%d/{id}":{"put":{"operationId":"op_%d","summary":"Stores an order.","description":"%s","tags":["orders"],
			"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}},{"$ref":"#/components/parameters/page"}],
			"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"of":{"$ref":"#/components/schemas/order%d"}}}}}},
			"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"$ref":"#/components/schemas/order%d"}}}}}}}`,
			i, i, strings.Repeat("what it does in many words ", 20), i, i))
	}
	document := []byte(`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"components":{"parameters":{"page":{"name":"page","in":"query","schema":{"type":"integer","default":1}}},
		"schemas":{` + strings.Join(schemas, ",") + `}},"paths":{` + strings.Join(paths, ",") + `}}`)
	b.SetBytes(int64(len(document)))
	before := cpu()
	for b.Loop() {
		api, err := openapitool.Load(document, openapitool.Options{Server: "https://api.example"})
		if err != nil || len(api.Tools()) != 900 {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e6, "cpu-ms/op")
}
