package models

import "github.com/braidrun/braid/pricing"

// Options configure an [Opener]. The zero Options are those of [Open].
type Options struct {
	// Env looks up keys, addresses and regions. nil means os.Getenv. The AWS SDK looks up its own
	// sources, such as profile files and roles of a machine, in the process's environment.
	Env func(string) string
	// Prices give models their costs. nil means pricing.Default(). To add your own table, use its
	// With.
	Prices *pricing.Table
	// Vendors are named servers with OpenAI's Chat Completions. nil means DefaultVendors().
	// ParseVendors reads more.
	Vendors *Vendors
	// Limits are limits of each provider's key.
	Limits Limits
	// Warn is called once for each model that [Opener.Open] opens and that is not fully known. nil
	// means no warnings. It may be called concurrently.
	Warn func(Warning)
}
