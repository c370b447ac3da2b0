// Package bound decides which thinking is sent back to a model that accepts it only after the
// request that it was made for.
//
// Claude 5.5, Fable 5.1 and Mythos 5.1 bind each thinking block to its prefix: the
// instructions, the tools and all messages before it. They refuse a block whose
// prefix has changed, and each block behind it, with 400 (the vendor's page
// build-with-claude/preserved-thinking/prefix-checks). A conversation changes its
// prefix whenever it is summarised, shortened or redacted, and whenever the agent's
// instructions or tools change.
//
// So a provider stamps each thinking block of an answer with a fingerprint of what was sent before
// it ([Stamper]). The stamp is in the log beside the block. For the next request the provider
// compares the stamp with what now precedes the block ([Chain]), and leaves the block out if they
// differ. It need not know what has changed. A block without a stamp is left out too, because its
// prefix is unknown.
package bound
