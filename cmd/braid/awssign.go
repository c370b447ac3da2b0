package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/braidrun/braid/cmd/braid/internal/conf"
	"github.com/braidrun/braid/event"
)

// awsSigner returns a function that signs requests to an AgentCore runtime with AWS's usual credentials:
// environment, profile or machine. The client checks the ARN.
func awsSigner(ctx context.Context, arn string) (func(context.Context, *http.Request, []byte) error, error) {
	const place = 3 // arn:aws:bedrock-agentcore:REGION:…
	var region string
	if parts := strings.Split(arn, ":"); len(parts) > place {
		region = parts[place]
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(region))
	if err != nil {
		return nil, &event.Error{
			Kind: event.ErrInvalid, Message: "the AWS configuration cannot be read",
			Hint: "look at AWS_PROFILE and the files that it names", Err: err,
		}
	}
	signer := v4.NewSigner()
	return func(ctx context.Context, r *http.Request, body []byte) error {
		keys, err := cfg.Credentials.Retrieve(ctx)
		if err != nil {
			return &event.Error{
				Kind: event.ErrUnauthenticated, Message: "there are no AWS keys to sign with",
				Hint: "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or " + conf.TokenEnv + " for a bearer token", Err: err,
			}
		}
		sum := sha256.Sum256(body)
		hash := hex.EncodeToString(sum[:])
		r.Header.Set("X-Amz-Content-Sha256", hash)
		return signer.SignHTTP(ctx, keys, r, hash, "bedrock-agentcore", region, time.Now())
	}, nil
}
