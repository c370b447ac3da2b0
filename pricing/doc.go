// Package pricing says what a call of a model costs, from a dated table.
//
//	prices := pricing.Default()
//	nano, known := prices.Cost("anthropic:claude-sonnet-5-5", "", time.Now(), usage)
//
// The table is a file that anybody can read and extend: prices.yaml in this folder. It contains
// its date and, for each vendor, the page of its prices and the day on which that was read. Your
// own file is added with [Parse] and [Table.With].
//
// Money is in whole numbers. A price is in micro-dollars for a million tokens, which is the same
// as pico-dollars for one. A cost is in nano-dollars. It is computed exactly and rounded once,
// half up.
//
// An unknown price is not zero: [Table.Cost] reports false for an unknown model, for a region
// without a price, on a day before the first price, and for a usage with a kind of tokens that has
// no price. The cost of a run with one such call is unknown too.
//
// An expired price is used until the table has its successor. [Table.Find] reports it in
// [Price.RanOut], and the command warns of it.
//
// # Which row a model has
//
// A row's name is the reference that users write. The exact name comes first. If no row has it,
// the name is looked up without what vendors append: a date ("-20251001", "-2026-03-05"), and for
// Bedrock also the profile in front ("us.", "eu.", "global." …), the version ("-v1:0") and the
// prefix of an ARN. There is no fuzzy matching: "claude-sonnet-5-5" never gets the price of
// "claude-sonnet-5", nor "gpt-5.4-mini" that of "gpt-5.4".
//
// The region is where the model is served. For a Bedrock model it is its profile, or its AWS
// region if it has none. For the other vendors it is "" for their default address, or the host of
// another one. A row without regions has its price everywhere.
//
// # What is not included
//
// The prices are list prices of the standard tier for text. They do not include contract
// discounts, batches, fast modes, hourly charges, free allowances, and audio with its own price.
package pricing
