// Package embedding turns texts into vectors whose closeness says how close the texts are in
// meaning. It is the seam to models that do so: one interface, with its types.
//
//	m, err := models.OpenEmbedding("openai:text-embedding-3-small")
//	docs, err := m.Embed(ctx, &embedding.Request{Texts: texts, Task: embedding.Document})
//	asked, err := m.Embed(ctx, &embedding.Request{Texts: []string{"Who pays?"}, Task: embedding.Query})
//	closest := embedding.Nearest(asked.Vectors[0], docs.Vectors, 3)
//
// The providers are below this package; embeddingtest holds their contract.
package embedding
