// Package s3peer holds workspaces in a bucket against a real server of the S3 protocol.
package s3peer
