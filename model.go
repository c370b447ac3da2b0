package braid

import "github.com/braidrun/braid/model"

// Model is [model.Model]: a language model that answers one request with one stream.
type Model = model.Model
