// Package s3 stores the workspaces of conversations in a bucket of Amazon S3, or of a compatible store.
//
//	cfg, err := config.LoadDefaultConfig(ctx)
//	if err != nil { … }
//	bucket, err := s3.New(s3.Options{Bucket: "files", Prefix: "braid", Config: cfg})
//	if err != nil { … }
//	if err := bucket.Check(ctx); err != nil { … }
//
// A file is one object, at prefix/tenant/conversation/incarnation/path. The first three are encoded, so that no id leads to
// the files of another tenant.
//
// It needs GetObject, HeadObject, PutObject, DeleteObjects, CopyObject and ListObjectsV2. Conditional writes protect writers
// of different processes from each other; a store that refuses them loses only this protection. Braid checks sizes and sums,
// signs with the AWS credential chain and repeats what a store answers with 429 or 5xx.
//
// Deleting must delete: [Bucket.Check] refuses a bucket that keeps old versions.
package s3
