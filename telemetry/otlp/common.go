package otlp

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

// The field numbers are those of opentelemetry/proto/common/v1/common.proto and
// resource/v1/resource.proto.

// resourceOf encodes the common part of ResourceSpans and ResourceMetrics: field 1 is the resource,
// field 3 its schema.
func resourceOf(r *resource.Resource) (m message) {
	if r == nil {
		return nil
	}
	var about message
	about.iterated(1, r.Iter())
	m.message(1, about)
	m.text(3, r.SchemaURL())
	return m
}

// scopeOf encodes the common part of ScopeSpans and ScopeMetrics: field 1 is the instrumentation
// scope, field 3 its schema.
func scopeOf(s instrumentation.Scope) (m message) {
	var scope message
	scope.text(1, s.Name)
	scope.text(2, s.Version)
	scope.iterated(3, s.Attributes.Iter())
	m.message(1, scope)
	m.text(3, s.SchemaURL)
	return m
}

func (m *message) iterated(field int, in attribute.Iterator) {
	for in.Next() {
		m.message(field, keyValue(in.Attribute()))
	}
}

func (m *message) attributes(field int, list []attribute.KeyValue) {
	for _, a := range list {
		m.message(field, keyValue(a))
	}
}

func keyValue(a attribute.KeyValue) (m message) {
	m.text(1, string(a.Key))
	m.message(2, anyValue(a.Value))
	return m
}

func anyValue(v attribute.Value) (m message) {
	switch v.Type() {
	case attribute.EMPTY:
	case attribute.STRING:
		m.presentText(1, v.AsString())
	case attribute.BOOL:
		var n uint64
		if v.AsBool() {
			n = 1
		}
		m.presentVarint(2, n)
	case attribute.INT64:
		m.presentVarint(3, uint64(v.AsInt64()))
	case attribute.FLOAT64:
		m.presentDouble(4, v.AsFloat64())
	case attribute.BOOLSLICE:
		m.message(5, list(v.AsBoolSlice(), attribute.BoolValue))
	case attribute.INT64SLICE:
		m.message(5, list(v.AsInt64Slice(), attribute.Int64Value))
	case attribute.FLOAT64SLICE:
		m.message(5, list(v.AsFloat64Slice(), attribute.Float64Value))
	case attribute.STRINGSLICE:
		m.message(5, list(v.AsStringSlice(), attribute.StringValue))
	case attribute.SLICE:
		m.message(5, list(v.AsSlice(), func(v attribute.Value) attribute.Value { return v }))
	case attribute.MAP:
		var all message
		all.attributes(1, v.AsMap())
		m.message(6, all)
	case attribute.BYTESLICE:
		m.message(7, v.AsByteSlice())
	default:
		m.presentText(1, v.String())
	}
	return m
}

func list[T any](values []T, of func(T) attribute.Value) (m message) {
	for _, v := range values {
		m.message(1, anyValue(of(v)))
	}
	return m
}

func nano(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(0, t.UnixNano()))
}
