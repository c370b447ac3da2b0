package sqlite

// selectTombstone finds the tombstone of a conversation.
const selectTombstone = `SELECT 1 FROM buried WHERE tenant = ? AND conversation = ? AND life = ?`
