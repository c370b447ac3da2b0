package schemacheck

// The bounds of a schema.
const (
	maxBytes = 1 << 20
	maxDepth = 128
	// maxParts is how many JSON values a schema may consist of.
	maxParts = 40_000
	// maxSpread is how many schemas may apply to one value, by way of references, allOf and
	// the like, counted once for each way that leads to them.
	maxSpread = 1 << 16
	// maxChain is how many schemas may apply to one value, each by way of the one before.
	maxChain = 512
	// maxWays is how many references, members of allOf and the like are followed while the spread
	// of a schema is measured.
	maxWays = 1 << 20
	// maxURI and maxURIs bound the bytes of one resolved URI of a schema and of all of them:
	// each $id is resolved against the one around it, so short ones may resolve to long ones.
	maxURI  = 1 << 10
	maxURIs = 1 << 20
	// maxPattern and maxPatterns bound the compiled size of one regular expression and of all.
	maxPattern  = 10_000
	maxPatterns = 100_000
)

// The bounds of one check.
const (
	// MaxSteps is how many steps one check takes at most. A step is about one keyword that is
	// compared with one value; long texts, lists and regular expressions cost more than one.
	MaxSteps = 4 << 20
	// maxValues is how many JSON values the checked value may consist of.
	maxValues = 1 << 18
	// maxLevels is how deep checks may call each other.
	maxLevels = 8192
	// maxKnown is how many outcomes are remembered.
	maxKnown = 1 << 16
	// stepsPerLook is how many steps pass between two looks at the stop channel.
	stepsPerLook = 1 << 10
)
