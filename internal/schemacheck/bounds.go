package schemacheck

// The bounds of a schema.
const (
	maxBytes = 1 << 20
	maxDepth = 128
	// maxParts is the maximum number of JSON values in a schema.
	maxParts = 40_000
	// maxSpread is the maximum number of schemas that apply to one value through references,
	// allOf and the like, counted once per path.
	maxSpread = 1 << 16
	// maxChain is the maximum length of a chain of schemas that apply to one value.
	maxChain = 512
	// maxWays is the maximum number of references, members of allOf and the like to follow while
	// measuring a schema's spread.
	maxWays = 1 << 20
	// maxURI and maxURIs bound the bytes of one resolved URI and of all of them. Each $id
	// resolves against the enclosing one, so short ids can resolve to long URIs.
	maxURI  = 1 << 10
	maxURIs = 1 << 20
	// maxPattern and maxPatterns bound the compiled size of one regular expression and of all.
	maxPattern  = 10_000
	maxPatterns = 100_000
)

// The bounds of one check.
const (
	// MaxSteps is the maximum number of steps of one check. A step is about one keyword applied
	// to one value; long texts, lists and regular expressions cost more.
	MaxSteps = 4 << 20
	// maxValues is the maximum number of JSON values in the checked value.
	maxValues = 1 << 18
	// maxLevels is the maximum recursion depth of a check.
	maxLevels = 8192
	// maxKnown is the maximum number of cached outcomes.
	maxKnown = 1 << 16
	// stepsPerLook is the number of steps between two polls of the stop channel.
	stepsPerLook = 1 << 10
)
