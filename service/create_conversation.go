package service

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
)

// NewConversation holds the settings of a new conversation.
type NewConversation struct {
	Title    string
	Metadata map[string]string
	// Agent is the id of the tenant's agent that answers; empty means the tenant's default. The
	// conversation is pinned to the agent's current version. Without an active default agent, the
	// default at the first run is used.
	Agent string
	// User is the user who owns the conversation. Empty means the principal's user. Only a
	// principal without a user may name one.
	User string
	// NoFiles makes the conversation one without a workspace.
	NoFiles bool
}

// CreateConversation creates a conversation.
func (s *Service) CreateConversation(ctx context.Context, p Principal, n NewConversation) (Conversation, error) {
	return s.create(ctx, p, "create conversation", newID(conversationPrefix), n)
}

func (s *Service) create(ctx context.Context, p Principal, op, id string, n NewConversation) (Conversation, error) {
	if err := p.check(op); err != nil {
		return Conversation{}, err
	}
	if err := checkTitle(op, n.Title); err != nil {
		return Conversation{}, err
	}
	if err := checkMetadata(op, n.Metadata); err != nil {
		return Conversation{}, err
	}
	user, err := ownerOf(op, p, n.User)
	if err != nil {
		return Conversation{}, err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	row := Row{
		Tenant: p.Tenant, ID: id, User: user, Title: n.Title, Metadata: n.Metadata, Created: now, Updated: now,
		NoFiles: n.NoFiles,
	}
	if err := s.choose(ctx, op, &row, n.Agent); err != nil {
		return Conversation{}, err
	}
	if err := s.quotas.keep(ctx, row); err != nil {
		return Conversation{}, err
	}
	return Conversation{Row: row}, nil
}

// OpenConversation returns the conversation with a name that the caller chose, and creates it as n
// says if there is none or it has expired. The name counts within the principal's tenant only. It
// serves callers with ids of their own.
func (s *Service) OpenConversation(ctx context.Context, p Principal, name string, n NewConversation) (Conversation, error) {
	const op = "open conversation"
	c, err := s.ConversationNamed(ctx, p, name)
	if !errors.Is(err, event.ErrNotFound) && !errors.Is(err, event.ErrGone) {
		return c, err
	}
	c, err = s.create(ctx, p, op, namedID(p.Tenant, name), n)
	if errors.Is(err, event.ErrConflict) { // another request was faster
		return s.ConversationNamed(ctx, p, name)
	}
	return c, err
}

// CreateNamed creates a conversation with a name that the caller chose. It returns [event.ErrConflict] if there is one, so
// of several callers at once one creates it. The name counts as in [Service.OpenConversation].
func (s *Service) CreateNamed(ctx context.Context, p Principal, name string, n NewConversation) (Conversation, error) {
	return s.create(ctx, p, "create conversation", namedID(p.Tenant, name), n)
}

// ConversationNamed returns the conversation with a name that the caller chose. It returns
// [event.ErrNotFound] if there is none.
func (s *Service) ConversationNamed(ctx context.Context, p Principal, name string) (Conversation, error) {
	return s.GetConversation(ctx, p, namedID(p.Tenant, name))
}

// namedID returns the id of a named conversation: as hard to guess as other ids, and always the
// same.
func namedID(tenant, name string) string {
	sum := sha256.Sum256([]byte(tenant + "\x00" + name))
	return conversationPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:20]))
}
