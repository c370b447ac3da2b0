// Package reqcache caches a provider's encoding of conversations.
//
// Every request sends the conversation again, and all but its end was sent before. So its encoding
// is kept. The blocks of a message are at the same addresses as long as a conversation's fold is
// cached ([model.Request]), and comparing pointers is cheap. A block must therefore not change
// after it was encoded, and the loop never changes one.
//
// The provider brings an [Encoder], which writes one message after the other in any form: bytes, or
// values of its SDK.
package reqcache
