// Package schemacheck checks JSON values against JSON schemas that strangers wrote.
//
// [Compile] reads a schema and refuses what no check could finish: schemas that refer to
// themselves without consuming the value, and schemas whose references and alternatives
// multiply. [Schema.Check] counts steps and depth, stops when its stop channel closes, and
// remembers what it has checked, so that its cost grows with schema × value at most.
// Schemas that recurse into the value, such as trees, are fine.
//
// It follows JSON Schema 2020-12 and draft 7 (drafts 4 and 6 where they say the same).
// Nothing is fetched: a reference must resolve inside the schema. "format", "default" and
// the content keywords are annotations. Regular expressions are RE2's, as in package regexp.
package schemacheck
