// Package stream sends a conversation, or one run of it, to one reader in the form of any wire. It has the one loop that
// all protocols of the server share: batches, heartbeats, write deadlines, the end of a credential, slow readers.
package stream
