package main

import (
	"context"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/workspace/s3"
)

// bucketWait bounds how long a server that starts waits for its bucket.
const bucketWait = 20 * time.Second

// openBucket opens the bucket of the option workspaces, with the credentials and the region of AWS's own chain, and checks
// that it can be used.
func (p *process) openBucket(ctx context.Context, address string) (*s3.Bucket, error) {
	o, err := s3.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, bucketWait)
	defer stop()
	if o.Config, err = awsconfig.LoadDefaultConfig(ctx); err != nil {
		return nil, &event.Error{
			Op: "workspaces", Kind: event.ErrInvalid, Message: "AWS's configuration cannot be read",
			Hint: "correct it, or the variables AWS_…", Err: err,
		}
	}
	if o.Endpoint == "" {
		o.Endpoint = p.Getenv("AWS_ENDPOINT_URL_S3") // the configuration has the address for all services alone
	}
	bucket, err := s3.New(o)
	if err != nil {
		return nil, err
	}
	if err := bucket.Check(ctx); err != nil {
		bucket.Close()
		return nil, err
	}
	return bucket, nil
}
