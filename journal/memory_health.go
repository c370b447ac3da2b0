package journal

import "context"

// Check implements [Catalog]. Memory always takes commits.
func (m *Memory) Check(ctx context.Context) error { return alive(ctx, "journal check") }

// Scrub implements [Catalog]. Memory has no files to scrub.
func (m *Memory) Scrub(ctx context.Context) error { return alive(ctx, "journal scrub") }
