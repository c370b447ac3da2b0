// Package toolname rewrites tools' names and calls' ids to a provider's character set, and maps names back.
//
// Authors name tools freely, such as "files.read" or "クエリ", and each provider has its own pattern. A name that fits
// is sent unchanged. In any other name the package replaces the foreign characters and appends a hash of the whole
// name. The result depends on the name alone. So a call in the history keeps its name after its tool is removed,
// every request has the same name, and two long names stay distinct after they are shortened.
//
// Ids ([IDs]) are never mapped back: results refer to calls by id within one conversation only. Equal ids are
// numbered.
package toolname
