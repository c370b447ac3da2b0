// Package embedding turns texts into vectors. Texts with a similar meaning have vectors with a high
// [Cosine]. The package defines the interface of the models that do this, and its types.
//
//	m, err := models.OpenEmbedding("openai:text-embedding-3-small")
//	docs, err := m.Embed(ctx, &embedding.Request{Texts: texts, Task: embedding.Document})
//	asked, err := m.Embed(ctx, &embedding.Request{Texts: []string{"Who pays?"}, Task: embedding.Query})
//	closest := embedding.Nearest(asked.Vectors[0], docs.Vectors, 3)
//
// The providers are below this package. Package embeddingtest checks their contract.
package embedding
