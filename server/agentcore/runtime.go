package agentcore

import (
	"net/url"

	"github.com/braidrun/braid/internal/lazyre"
)

// servedRuntime identifies the runtime that the AWS endpoints serve.
type servedRuntime struct{ arn, region, account, id string }

var arnForm = lazyre.New(`^arn:[a-z-]+:bedrock-agentcore:([a-z0-9-]+):([0-9]{12}):runtime/([A-Za-z][A-Za-z0-9_]{0,99}-[A-Za-z0-9]{10})$`)

func parseRuntime(arn string) (*servedRuntime, error) {
	m := arnForm.FindStringSubmatch(arn)
	if m == nil {
		return nil, wrong("the runtime's ARN is not valid", "write it as arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/name-0123456789")
	}
	return &servedRuntime{arn: arn, region: m[1], account: m[2], id: m[3]}, nil
}

// answers reports whether a request names this runtime and its endpoint. A request names the
// runtime by its ARN, or by its id together with the account.
func (d *servedRuntime) answers(name string, query url.Values) bool {
	if q := query.Get("qualifier"); q != "" && q != "DEFAULT" {
		return false
	}
	account := query.Get("accountId")
	if account != "" && account != d.account {
		return false
	}
	return name == d.arn || name == d.id && account != ""
}
