package service

import (
	"strconv"
	"time"
)

// These are the sizes of pages.
const (
	DefaultPage = 20
	MostPage    = 100
)

// Page selects a part of a list.
type Page struct {
	// Cursor is the next cursor of the previous page; empty means the first page. It is valid only
	// for the same tenant and filters.
	Cursor string
	// Limit is at most [MostPage]. 0 means [DefaultPage].
	Limit    int
	Archived bool
	// User lists only that user's conversations, or those without a user if it points to "". nil
	// lists all that the principal may reach.
	User *string
	// Agent lists only the conversations that are pinned to that agent. "" lists all.
	Agent string
	// Status lists only the conversations whose oldest open run, or else newest run, has the
	// status: open, queued, running, waiting, completed, failed or cancelled. "" lists all.
	//
	// With a status the conversation whose run was admitted last comes first, and a page may be
	// shorter than the limit although more follow.
	Status string
}

// name names the list that a cursor belongs to.
func (page *Page) name(op string, p Principal, user *string) string {
	name := op + " " + strconv.Quote(p.Tenant) + " " + strconv.FormatBool(page.Archived)
	if user != nil {
		name += " user " + strconv.Quote(*user)
	}
	if page.Agent != "" {
		name += " agent " + strconv.Quote(page.Agent)
	}
	return name
}

func foreignCursor(op string) error {
	return invalid(op, "the cursor does not belong to this list", "begin again without one")
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
