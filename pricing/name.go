package pricing

import (
	"strings"
	"time"

	"github.com/braidrun/braid/internal/lazyre"
)

var (
	// A date at the end of a name, as Anthropic writes it and as OpenAI does.
	dated = lazyre.New(`-(\d{4}-\d{2}-\d{2}|\d{8})$`)
	// A Bedrock id's version, the profile that a call goes through, and what stands
	// before either in an ARN that names a model. One of a profile of somebody's own
	// does not.
	arn     = lazyre.New(`^arn:aws[a-z-]*:bedrock:[a-z0-9-]*:\d*:(inference-profile|foundation-model)/`)
	version = lazyre.New(`-v\d+(:\d+)?$`)
	profile = lazyre.New(`^(us-gov|[a-z]{2}|apac|global)\.`)
)

const bedrock = "bedrock:"

// plain returns a model's name without what vendors append to it, and the region in the name.
func plain(model string) (name, region string) {
	name, ours := strings.CutPrefix(model, bedrock)
	if ours {
		name = name[len(arn.FindString(name)):]
		if p := profile.FindString(name); p != "" {
			name, region = name[len(p):], strings.TrimSuffix(p, ".")
		}
		if v := version.FindString(name); v != "" {
			name = name[:len(name)-len(v)]
		}
	}
	if d := dated.FindStringSubmatch(name); d != nil && isDate(d[1]) {
		name = name[:len(name)-len(d[0])]
	}
	if ours {
		name = bedrock + name
	}
	return name, region
}

// isDate reports whether eight digits are a date.
func isDate(s string) bool {
	layout := time.DateOnly
	if len(s) == 8 {
		layout = "20060102"
	}
	d, err := time.Parse(layout, s)
	return err == nil && d.Year() >= 2020 && d.Year() < 2100
}
