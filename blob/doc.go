// Package blob stores bytes: files of workspaces, artifacts, transcripts, stored folds. [Store] is the seam.
// [Memory], journal/sqlite and journal/postgres implement it, each beside its conversations, and package blobtest
// holds the contract that all of them pass.
//
// A blob belongs to one tenant and is named by the SHA-256 of its bytes, its [Digest]. So a tenant stores the same
// bytes once, and a blob never changes. A [Ref] names a blob for its owner: "the file notes.txt in the workspace of
// this conversation". A blob exists as long as a reference names it. The last reference that goes takes the blob
// with it.
//
// Bytes come and go in pieces of at most [PieceSize]. Neither a large blob nor a slow reader or writer keeps a
// transaction open or the bytes in memory. A blob can be read once all of its pieces are stored. What an interrupted
// [Store].Put leaves cannot be reached, and [Store].Sweep removes it.
//
// A read verifies each piece before it returns a byte of it, and a read of a whole blob verifies its digest before it
// returns the last piece. Damage is an error with the code [CodeDamaged], never wrong bytes.
package blob
