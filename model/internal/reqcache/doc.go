// Package reqcache keeps what conversations look like to a provider.
//
// A conversation is sent again with every request, and all but its end is what
// was sent before. So its encoding is kept: the blocks of a message are the same
// pieces of memory as long as a conversation is warm ([model.Request]), and
// comparing pointers costs next to nothing. A block that has been encoded once
// must therefore not be changed, which the loop never does.
//
// The provider brings an [Encoder], which writes one message behind the other in
// whatever form it likes: bytes, or values of its SDK.
package reqcache
