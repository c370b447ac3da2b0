// Package toolname says tools' names and calls' ids in a provider's letters, and
// takes names back.
//
// The agent's tools are called as their authors like, "files.read" or
// "クエリ"; every provider has a pattern of its own. A name that fits goes as it
// is. Any other one has its foreign letters replaced and a hash of the whole
// behind it, so that it depends on the name alone: a call in the history keeps
// its name when its tool is gone, every request says the same, and two names that
// would be one after cutting stay apart.
//
// Ids ([IDs]) go one way only: results find their calls by them, inside one
// conversation. So they are numbered where two would be the same.
package toolname
