package journal

import "context"

// StorageCounter counts what the conversations of a tenant take up.
type StorageCounter interface {
	// StoredBytes returns how many bytes the tenant's conversations hold: events, the inputs of runs, mail, and what a
	// [Ledger] and a [MessageKeeper] repeat of them, each as it is encoded. A removed conversation and an erased text
	// no longer count; rows of usage never do. For a conversation with an open run the result may lag behind by up to
	// [StorageLag]. The result of an unknown tenant is 0. The cost does not grow with the number of conversations.
	StoredBytes(ctx context.Context, tenant string) (int64, error)
}

// StorageLag bounds how many bytes of one conversation [StorageCounter].StoredBytes may leave out while a run of it is open.
const StorageLag = 64 << 10
