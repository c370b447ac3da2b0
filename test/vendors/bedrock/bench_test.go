package bedrock_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
	"github.com/braidrun/braid/model/bedrock"
	"github.com/braidrun/braid/model/bedrock/bedrocktest"
)

// still is a transport that answers every request with the same stream.
type still string

func (s still) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(string(s))), ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// BenchmarkCall is a whole call without the network, in a conversation of 1,000 messages, by our
// provider and by AWS's client: with one delta, and with 500.
func BenchmarkCall(b *testing.B) {
	var mine []event.Message
	var theirs []types.Message
	for i := range 999 {
		role, other := event.RoleUser, types.ConversationRoleUser
		if i%2 == 1 {
			role, other = event.RoleAssistant, types.ConversationRoleAssistant
		}
		text := fmt.Sprint(i, strings.Repeat("x", 40))
		mine = append(mine, event.Message{Role: role, Content: []event.Block{&event.Text{Text: text}}})
		theirs = append(theirs, types.Message{Role: other, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: text}}})
	}
	for _, n := range []int{1, 500} {
		wire := &http.Client{Transport: still(bedrocktest.Text(strings.Split(strings.Repeat("a few words|", n), "|")[:n]...).Body)}
		b.Run(fmt.Sprint("ours/", n), func(b *testing.B) {
			m, err := bedrock.New(sonnet, bedrocktest.Config(), bedrock.HTTPClient(wire))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for range b.N {
				for _, err := range m.Stream(b.Context(), &model.Request{Messages: mine}) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(fmt.Sprint("sdk/", n), func(b *testing.B) {
			c := bedrockruntime.NewFromConfig(bedrocktest.Config(), func(o *bedrockruntime.Options) { o.HTTPClient = wire })
			b.ReportAllocs()
			for range b.N {
				out, err := c.ConverseStream(b.Context(), &bedrockruntime.ConverseStreamInput{ModelId: aws.String(sonnet), Messages: theirs})
				if err != nil {
					b.Fatal(err)
				}
				for e := range out.GetStream().Events() {
					_ = e
				}
				if err := out.GetStream().Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
