package corpora

// live counts the pieces of text and thinking that a stream brings one by one. A provider that
// hands them over only when a block is finished would say the same, and show nothing until then.
func (x *exchange) live() (n int) {
	count := func(texts ...value) {
		for _, t := range texts {
			if t.text() != "" {
				n++
				return
			}
		}
	}
	if x.api == converseAPI {
		for _, f := range frames(x.body) {
			var v value
			if f.name == "contentBlockDelta" && decode(f.payload, &v) == nil {
				count(v.at("delta").at("text"), v.at("delta").at("reasoningContent").at("text"))
			}
		}
		return n
	}
	for _, data := range x.events() {
		var v value
		if decode(data, &v) != nil {
			continue
		}
		switch x.api {
		case anthropicAPI, invokeAPI:
			count(v.at("delta").at("text"), v.at("delta").at("thinking"))
		case geminiAPI:
			for _, p := range v.at("candidates").item(0).at("content").at("parts").items() {
				count(p.at("text"))
			}
		case chatAPI:
			d := v.at("choices").item(0).at("delta")
			count(d.at("content"), d.at("reasoning_content"), d.at("reasoning"))
		case responsesAPI:
			switch v.at("type").text() {
			case "response.output_text.delta", "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
				count(v.at("delta"))
			}
		}
	}
	return n
}
