package directory

// Status says whether something may be used.
type Status string

// These are the statuses. Empty means active for a new object.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)
