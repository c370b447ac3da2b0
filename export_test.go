package braid

// For the tests outside: a conversation whose log can be cut as a driver that died leaves it.
var (
	PlanConversation = planConversation
	CutLog           = cutLog
)
