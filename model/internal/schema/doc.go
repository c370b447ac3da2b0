// Package schema rewrites JSON schemas to the form that a model's vendor accepts.
//
// Tools have schemas of any draft, from any library. Each vendor accepts its own subset of JSON
// Schema and refuses a whole request for one unknown keyword. [Form] rewrites a schema by a table
// of [Rules]: it resolves references that are not allowed, writes alternatives in the vendor's way,
// and so on. It does not silently drop what has no form: a [Problem] describes it, and [Words]
// tells the model about it. The tool itself still checks the whole schema.
//
// A value that is valid under the schema is valid under its form, unless a problem says otherwise.
// If both are not possible the form is the wider one.
//
// The same schema always gives the same bytes, with members in their order, because vendors cache
// prompts by their first bytes. Work and memory are bounded, also for schemas that are built to be
// large when their references are resolved.
//
// It follows JSON Schema drafts 4 to 2020-12 (json-schema.org), OpenAPI 3.0 for nullable, and the
// vendors' pages that are named beside each table.
package schema
