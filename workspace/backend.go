package workspace

import "context"

// Owner is the conversation that a workspace belongs to. Incarnation distinguishes conversations that reuse one id.
type Owner struct{ Tenant, Conversation, Incarnation string }

// Backend stores the workspaces of the conversations of many tenants. [Store] is one in a store of bytes, and package
// workspace/s3 has one in a bucket. All methods are safe for concurrent use and return *[event.Error]s.
//
// [event.Error]: https://pkg.go.dev/github.com/braidrun/braid/event#Error
type Backend interface {
	// Files returns the workspace of a conversation. It does not look whether there is one.
	Files(o Owner) Files
	// Copy gives a conversation the files of another one of the same tenant. The quota does not count. After an error the
	// new workspace is empty.
	Copy(ctx context.Context, from, to Owner) error
	// Remove removes all files of a conversation. It may be repeated.
	Remove(ctx context.Context, o Owner) error
	// RemoveTenant removes all files of a tenant. It may be repeated.
	RemoveTenant(ctx context.Context, tenant string) error
	// Stored returns how many bytes the files of a tenant take, beyond what the journal counts itself. It may be a minute
	// old for what other processes have stored.
	Stored(ctx context.Context, tenant string) (int64, error)
}

var _ Backend = (*Store)(nil)

// Files implements [Backend].
func (s *Store) Files(o Owner) Files { return s.Open(o.Tenant, o.Conversation, o.Incarnation) }

// Copy implements [Backend]. It copies no bytes.
func (s *Store) Copy(ctx context.Context, from, to Owner) error {
	return s.Open(from.Tenant, from.Conversation, from.Incarnation).LinkTo(ctx, s.Open(to.Tenant, to.Conversation, to.Incarnation))
}

// Remove implements [Backend]. The journal removes the files with the conversation.
func (s *Store) Remove(context.Context, Owner) error { return nil }

// RemoveTenant implements [Backend]. The journal removes the files with the tenant.
func (s *Store) RemoveTenant(context.Context, string) error { return nil }

// Stored implements [Backend]. The journal counts the files itself.
func (s *Store) Stored(context.Context, string) (int64, error) { return 0, nil }
