// Package openapipeer calls every operation of public OpenAPI documents and holds the requests to the documents with another
// library.
package openapipeer
