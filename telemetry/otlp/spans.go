package otlp

import (
	"context"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// spanClient carries the spans of OpenTelemetry's exporter. It implements otlptrace.Client.
type spanClient struct{ *sender }

// Start implements otlptrace.Client.
func (spanClient) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c spanClient) Stop(context.Context) error {
	c.stop()
	return nil
}

// UploadTraces implements otlptrace.Client. TracesData has the same wire form as
// ExportTraceServiceRequest, whose package links grpc.
func (c spanClient) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	return c.send(ctx, &tracepb.TracesData{ResourceSpans: spans})
}
