package service

import (
	"context"
	"io"

	"github.com/braidrun/braid/artifact"
)

// ArtifactsOf returns the artifacts of the run that a tool works for: those of its conversation and of its user. It is for
// [artifacttool.ForEach]. It returns nil outside a run. What is stored there counts towards the tenant's quota; a version beyond it
// is [event.ErrQuota].
//
// [artifacttool.ForEach]: https://pkg.go.dev/github.com/braidrun/braid/tool/artifacttool#ForEach
func ArtifactsOf(ctx context.Context) (artifact.Files, error) {
	in, _ := ctx.Value(conversationKey{}).(runsIn)
	if in.artifacts == nil {
		return nil, nil //nolint:nilnil // there are none
	}
	return in.artifacts, nil
}

// Artifacts returns the artifacts of a conversation and of the principal's user.
func (s *Service) Artifacts(ctx context.Context, p Principal, id string) (artifact.Files, error) {
	row, err := s.row(ctx, p, "artifacts", id)
	if err != nil {
		return nil, err
	}
	key := row.Key()
	of := s.artifactsOf(key, p.User)
	of.there = func(ctx context.Context) bool {
		alive, err := s.Lives(ctx, key)
		return err != nil || alive
	}
	return of, nil
}

func (s *Service) artifactsOf(key ConversationKey, user string) *countedArtifacts {
	owner := artifact.Owner{Tenant: key.Tenant, User: user, Conversation: key.ID, Incarnation: key.Life}
	return &countedArtifacts{Files: s.builder.artifacts.Of(owner), quotas: s.quotas, tenant: key.Tenant}
}

// countedArtifacts holds the writer of artifacts to the tenant's quota.
type countedArtifacts struct {
	artifact.Files

	quotas *quotas
	tenant string
	// there reports whether the conversation still exists. nil means that it does.
	there func(ctx context.Context) bool
}

// Save implements [artifact.Files]. An artifact that arrives while its conversation is deleted goes with it.
func (f *countedArtifacts) Save(ctx context.Context, name, mime string, r io.Reader) (artifact.Version, error) {
	counted := &countedReader{r: r, take: func(n int64) error { return f.quotas.admit(ctx, f.tenant, n, true) }}
	f.quotas.storage.begin(f.tenant)
	v, err := f.Files.Save(ctx, name, mime, counted)
	if err != nil {
		f.quotas.storage.end(f.tenant, counted.taken, 0)
		return v, err
	}
	f.quotas.storage.end(f.tenant, counted.taken, v.Size)
	if f.there != nil && !f.there(ctx) {
		_ = f.Delete(context.WithoutCancel(ctx), name) // the tenant's erasure removes it otherwise
		return artifact.Version{}, notFound("save artifact", "conversation")
	}
	return v, nil
}
