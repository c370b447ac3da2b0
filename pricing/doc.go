// Package pricing says what a call of a model costs, from a dated table.
//
//	prices := pricing.Default()
//	nano, known := prices.Cost("anthropic:claude-sonnet-5-5", "", time.Now(), usage)
//
// The table is a file that anybody can read and extend: prices.yaml, beside this
// comment, says when it was made and, for each vendor, which page its prices
// stand on and when that was read. A file of one's own is laid over it with
// [Parse] and [Table.With].
//
// Money is whole numbers. A price is in micro-dollars for a million tokens,
// which is the same as pico-dollars for one; a cost is in nano-dollars and is
// rounded once, half up, from the exact sum.
//
// A price that is not known is not zero: [Table.Cost] reports false for a model
// that stands nowhere, for a region that has no price, on a day before its first
// price, and for a usage with a kind of tokens that has no price. The cost of a
// run with one such call is not known either.
//
// A price that has run out is used until the table has its successor. [Table.Find]
// says so in [Price.RanOut], and the command warns of it.
//
// # Which row a model has
//
// A row's name is the reference that users write. A name is looked up as it is;
// if no row has it, once more without what vendors append to the same model: a
// date ("-20251001", "-2026-03-05"), and of a Bedrock model its profile in front
// ("us.", "eu.", "global." …), its version behind ("-v1:0"), and what makes an ARN
// of it. Nothing else is taken away: "claude-sonnet-5-5" never has the price of "claude-sonnet-5", nor
// "gpt-5.4-mini" that of "gpt-5.4".
//
// The region is where the model is served: of a Bedrock model its profile, or
// the AWS region where it has none; of the other vendors "" for their usual
// address, or what stands before it. A row without regions has its price
// everywhere.
//
// # What it leaves out
//
// These are list prices of the standard tier for text. Discounts of a contract,
// batches, fast modes and what a vendor charges by the hour are not in them, nor are
// free allowances, nor audio where a vendor takes more for it.
package pricing
