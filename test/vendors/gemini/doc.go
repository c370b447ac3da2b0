// Package gemini holds no code. Its tests let the vendor's SDK, google.golang.org/genai, read
// what the stand-in of model/gemini answers, and what the provider sends.
package gemini
