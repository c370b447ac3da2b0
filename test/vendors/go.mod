module github.com/braidrun/braid/test/vendors

go 1.26.0

require (
	github.com/anthropics/anthropic-sdk-go/v2 v2.12.0
	github.com/braidrun/braid v0.0.0
	github.com/openai/openai-go/v3 v3.95.0
	google.golang.org/genai v1.77.0
)

replace github.com/braidrun/braid => ../..
