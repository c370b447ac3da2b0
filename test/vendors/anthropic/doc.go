// Package anthropic holds no code. Its tests let the vendor's SDK, anthropic-sdk-go, read what
// the stand-ins of model/anthropic answer, and what the provider sends.
package anthropic
