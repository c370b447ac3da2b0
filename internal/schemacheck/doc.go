// Package schemacheck validates JSON values against untrusted JSON schemas.
//
// [Compile] refuses schemas that no check could finish: schemas that refer to themselves without
// consuming the value, and schemas whose references and alternatives multiply. [Schema.Check]
// bounds its steps and depth and stops when its stop channel closes. It caches outcomes, so that
// its cost grows with schema × value at most. Schemas that recurse into the value, such as trees,
// are fine.
//
// The package follows JSON Schema 2020-12 and draft 7, and drafts 4 and 6 where they agree. It
// fetches nothing: a reference must resolve inside the schema. "format", "default" and the
// content keywords are annotations. Regular expressions are RE2's, as in package regexp.
package schemacheck
