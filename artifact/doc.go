// Package artifact keeps files with versions that agents make and people send: the artifacts of Google's ADK. The bytes are
// blobs of a [blob.Store], each stored once for a tenant. Versions count from 0.
//
// A name that begins with "user:" belongs to the user, and is there in each of the user's conversations. Any other name
// belongs to its conversation, and is removed with it.
package artifact
