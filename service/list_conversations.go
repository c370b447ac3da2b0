package service

import (
	"context"
	"strconv"
	"time"

	cursors "github.com/braidrun/braid/internal/cursor"
)

// ListConversations lists the conversations that the principal may reach. The newest comes first
// unless the page has a status. next is the cursor of the next page; empty means that there is
// none.
func (s *Service) ListConversations(ctx context.Context, p Principal, page Page) (list []Row, next string, err error) {
	const op = "list conversations"
	if err := p.check(op); err != nil {
		return nil, "", err
	}
	if page.Limit < 0 || page.Limit > MostPage {
		return nil, "", invalid(op, "the limit is out of bounds", "ask for 1 to 100 at a time")
	}
	if page.Limit == 0 {
		page.Limit = DefaultPage
	}
	if page.User != nil && *page.User != "" {
		if err := checkUser(op, *page.User); err != nil {
			return nil, "", err
		}
	}
	user, err := s.reaches(ctx, p)
	if err != nil {
		return nil, "", err
	}
	q := Query{Archived: page.Archived, User: page.User, Agent: page.Agent, Limit: page.Limit + 1}
	if user != "" {
		if page.User != nil && *page.User != user {
			return nil, "", nil // this principal reaches no other user's conversations
		}
		q.User = &user
	}
	if page.Status != "" {
		return s.listByStatus(ctx, op, p, page, q)
	}
	name := page.name(op, p, q.User)
	if page.Cursor != "" {
		place, ok := cursors.Decode(name, page.Cursor, 2)
		if !ok {
			return nil, "", foreignCursor(op)
		}
		created, err := strconv.ParseInt(place[0], 10, 64)
		if err != nil || checkID(op, "conversation", conversationPrefix, place[1]) != nil {
			return nil, "", foreignCursor(op)
		}
		q.Created, q.ID = time.UnixMicro(created).UTC(), place[1]
	}
	list, err = s.options.Rows.List(ctx, p.Tenant, q)
	if err != nil || len(list) <= page.Limit {
		return list, "", err
	}
	list = list[:page.Limit]
	last := list[len(list)-1]
	return list, cursors.Encode(name, strconv.FormatInt(last.Created.UnixMicro(), 10), last.ID), nil
}
