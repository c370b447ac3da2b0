package schema

import (
	"strconv"
	"strings"
	"testing"
)

// A schema with very many parts has no form, because rewriting takes disproportionately long.
func TestSchemasOfManyParts(t *testing.T) {
	t.Parallel()
	for n, fits := range map[int]bool{1000: true, maxNodes: false} {
		var s strings.Builder
		s.WriteString(`{"type":"object","properties":{`)
		for i := range n {
			if i > 0 {
				s.WriteByte(',')
			}
			s.WriteString(`"p` + strconv.Itoa(i) + `":{"type":"string"}`)
		}
		s.WriteString(`}}`)
		for _, rules := range []*Rules{OpenAITools, OpenAIOutput, GeminiJSON, AnthropicTools, AnthropicOutput, NovaTools, BedrockTools} {
			_, problems := Form([]byte(s.String()), rules)
			p, fatal := Worst(problems, Fatal)
			if fatal == fits || fatal && !strings.Contains(p.Text, "too many parts") {
				t.Errorf("%d properties: %v %+v", n, fatal, p)
			}
		}
	}
}
