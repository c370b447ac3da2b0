// Package schema writes JSON schemas in the form that a model's vendor takes.
//
// Tools come with schemas of any draft, made by any library; each vendor takes a
// part of JSON Schema of its own and refuses a whole request for one keyword that
// it does not know. [Form] rewrites a schema by a table of [Rules]: references are
// put in place where they cannot stand, alternatives are written as the vendor
// writes them, and so on. What has no form is not dropped in silence: a [Problem]
// says what it is, and [Words] tells it to the model, because the tool itself holds
// the schema anyway.
//
// The rule of the rewriting: a value that is valid under the schema is valid under
// its form, unless a problem says otherwise. Where both cannot be had, the form is
// the wider one.
//
// The same schema always gives the same bytes, members in the order in which they
// came: vendors cache prompts by their first bytes. Work and memory are bounded,
// also for schemas that were written to be large when their references are put in
// place.
//
// What it follows: JSON Schema drafts 4 to 2020-12 (json-schema.org), OpenAPI 3.0
// for nullable, and what the vendors' pages say, named beside each table.
package schema
