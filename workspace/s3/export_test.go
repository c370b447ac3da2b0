package s3

import "time"

// Hurry makes the waits between attempts short.
func Hurry(b *Bucket) { b.wait = time.Millisecond }
