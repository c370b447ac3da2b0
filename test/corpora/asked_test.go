package corpora

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// asked is a request as far as a provider must say the same: system prompt, messages, and
// the tools. Calls and results are paired by number, because a provider may give
// calls other ids.
type asked struct {
	System   string
	Turns    []turn
	Tools    []tool
	Settings settings
}

type turn struct {
	Role  string
	Parts []part
}

// part is a piece of a message. Kind is text, thinking, call, result, image or file.
type part struct {
	Kind, Text, Name, Args, Sig, MIME string
	// Data is what an image or a file holds, in base64, or its address.
	Data string
	// ID is the call's in the recording; number makes it a number.
	ID string

	file []byte
}

// taker reads requests. other names the first part of a kind that is not compared.
type taker struct {
	asked

	other string
}

func (k *taker) add(role string, p part) {
	if p.Kind == "text" && p.Text == "" && p.Sig == "" {
		return
	}
	if n := len(k.Turns); n == 0 || k.Turns[n-1].Role != role {
		k.Turns = append(k.Turns, turn{Role: role})
	}
	t := &k.Turns[len(k.Turns)-1]
	t.Parts = append(t.Parts, p)
}

func (k *taker) skip(what string) {
	if k.other == "" {
		k.other = what
	}
}

// take reads the body of a request; other is "" if all of it can be compared.
func (x *exchange) take(body []byte) (a asked, other string) {
	var v value
	k := &taker{}
	if decode(body, &v) != nil {
		return asked{}, "no JSON"
	}
	switch x.api {
	case anthropicAPI, invokeAPI:
		k.anthropic(v)
	case converseAPI:
		k.converse(v)
	case geminiAPI:
		k.gemini(v)
	case chatAPI:
		k.chat(v)
	case responsesAPI:
		k.responses(v)
	}
	k.number()
	return k.asked, k.other
}

// number gives calls and results the number of the call, and joins texts beside each other.
func (k *taker) number() {
	ids, n := map[string]string{}, 0
	for i := range k.Turns {
		t := &k.Turns[i]
		var parts []part
		for _, p := range t.Parts {
			switch p.Kind {
			case "call":
				n++
				ids[p.ID] = strconv.Itoa(n)
				p.ID = ids[p.ID]
			case "result":
				p.ID = ids[p.ID]
			default:
				p.ID = ""
			}
			if last := len(parts) - 1; p.Kind == "text" && last >= 0 && parts[last].Kind == "text" && p.Sig == "" && parts[last].Sig == "" {
				parts[last].Text += "\n" + p.Text
				continue
			}
			parts = append(parts, p)
		}
		t.Parts = parts
	}
}

func join(v value) string {
	if s := v.text(); s != "" {
		return s
	}
	var texts []string
	for _, b := range v.items() {
		if t := b.at("text").text(); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

// image is a picture; what it holds is shortened to something that can be compared.
func image(mime, b64 string) part {
	raw, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		return part{Kind: "image", MIME: mime, Data: "not base64"}
	}
	sum := sha256.Sum256(raw)
	return part{Kind: "image", MIME: mime, Data: hex.EncodeToString(sum[:6]), file: raw}
}

func (k *taker) anthropic(v value) {
	k.System = join(v.at("system"))
	for _, t := range v.at("tools").items() {
		if kind := t.at("type").text(); kind != "" && kind != "custom" {
			k.skip("a tool of the vendor: " + kind)
		}
		k.Tools = append(k.Tools, toolOf(t, t.at("input_schema")))
	}
	k.set(v, []string{"max_tokens"}, "temperature", "top_p", "stop_sequences")
	k.choose(v.at("tool_choice").at("type").text(), v.at("tool_choice").at("name").text())
	for _, m := range v.at("messages").items() {
		role := m.at("role").text()
		if s := m.at("content").text(); s != "" {
			k.add(role, part{Kind: "text", Text: s})
		}
		for _, b := range m.at("content").items() {
			switch b.at("type").text() {
			case "text":
				k.add(role, part{Kind: "text", Text: b.at("text").text()})
			case "thinking":
				k.add(role, part{Kind: "thinking", Text: b.at("thinking").text(), Sig: b.at("signature").text()})
			case "tool_use":
				k.add(role, part{Kind: "call", Name: b.at("name").text(), Args: canonical(b.at("input").raw()), ID: b.at("id").text()})
			case "tool_result":
				if b.at("content").text() == "" && len(b.at("content").items()) != 1 || b.at("content").item(0).at("type").text() != "" &&
					b.at("content").item(0).at("type").text() != "text" {
					k.skip("a result of many parts")
				}
				k.add(role, part{Kind: "result", Text: join(b.at("content")), ID: b.at("tool_use_id").text()})
			case "image":
				s := b.at("source")
				k.add(role, image(s.at("media_type").text(), s.at("data").text()))
				if s.at("type").text() != "base64" {
					k.skip("an image by address")
				}
			default:
				k.skip("a block of kind " + b.at("type").text())
			}
		}
	}
}

func (k *taker) converse(v value) {
	for _, s := range v.at("system").items() {
		if t := s.at("text").text(); t != "" {
			k.System = strings.TrimPrefix(k.System+"\n"+t, "\n")
		}
	}
	for _, t := range v.at("toolConfig").at("tools").items() {
		if s := t.at("toolSpec"); s.there() {
			k.Tools = append(k.Tools, toolOf(s, s.at("inputSchema").at("json")))
		} else if !t.at("cachePoint").there() {
			k.skip("a tool of the vendor")
		}
	}
	k.set(v.at("inferenceConfig"), []string{"maxTokens"}, "temperature", "topP", "stopSequences")
	if c := v.at("toolConfig").at("toolChoice"); len(c.names()) > 0 {
		k.choose(strings.Replace(c.names()[0], "tool", "", 1), c.at("tool").at("name").text())
	}
	for _, m := range v.at("messages").items() {
		role := m.at("role").text()
		for _, b := range m.at("content").items() {
			switch {
			case b.at("text").there():
				k.add(role, part{Kind: "text", Text: b.at("text").text()})
			case b.at("reasoningContent").at("reasoningText").there():
				r := b.at("reasoningContent").at("reasoningText")
				k.add(role, part{Kind: "thinking", Text: r.at("text").text(), Sig: r.at("signature").text()})
			case b.at("toolUse").there():
				u := b.at("toolUse")
				k.add(role, part{Kind: "call", Name: u.at("name").text(), Args: canonical(u.at("input").raw()), ID: u.at("toolUseId").text()})
				if u.at("type").text() == "server_tool_use" {
					k.skip("a tool of the vendor")
				}
			case b.at("toolResult").there():
				r := b.at("toolResult")
				if len(r.at("content").items()) != 1 || !r.at("content").item(0).at("text").there() {
					k.skip("a result of many parts")
				}
				k.add(role, part{Kind: "result", Text: join(r.at("content")), ID: r.at("toolUseId").text()})
			case b.at("cachePoint").there():
			default:
				k.skip("a block of kind " + strings.Join(b.names(), " "))
			}
		}
	}
}

func (k *taker) gemini(v value) {
	either := func(v value, names ...string) value {
		for _, n := range names {
			if v.at(n).there() {
				return v.at(n)
			}
		}
		return value{}
	}
	k.System = join(either(v, "systemInstruction", "system_instruction").at("parts"))
	for _, t := range v.at("tools").items() {
		list := either(t, "functionDeclarations", "function_declarations")
		if !list.there() {
			k.skip("a tool of the vendor")
		}
		for _, f := range list.items() {
			k.Tools = append(k.Tools, toolOf(f, either(f, "parameters", "parametersJsonSchema", "parameters_json_schema")))
		}
	}
	k.set(either(v, "generationConfig", "generation_config"), []string{"maxOutputTokens", "max_output_tokens"}, "temperature", "topP", "stopSequences")
	if c := either(v, "toolConfig", "tool_config"); c.there() {
		c = either(c, "functionCallingConfig", "function_calling_config")
		names := either(c, "allowedFunctionNames", "allowed_function_names")
		name := ""
		if len(names.items()) == 1 {
			name = names.item(0).text()
		}
		k.choose(c.at("mode").text(), name)
	}
	calls := 0
	var open []part
	for _, m := range v.at("contents").items() {
		role := m.at("role").text()
		if role == "model" {
			role = "assistant"
		}
		if role == "" || role == "function" {
			role = "user"
		}
		for _, p := range m.at("parts").items() {
			sig := either(p, "thoughtSignature", "thought_signature").text()
			switch {
			case either(p, "functionCall", "function_call").there():
				c := either(p, "functionCall", "function_call")
				calls++
				open = append(open, part{
					Kind: "call", Name: c.at("name").text(), Args: canonical(c.at("args").raw()), ID: "c" + strconv.Itoa(calls), Sig: sig,
				})
				k.add("assistant", open[len(open)-1])
			case either(p, "functionResponse", "function_response").there():
				// Results stand in the order of their calls, which most requests have no ids for.
				r := either(p, "functionResponse", "function_response")
				name := r.at("name").text()
				i := slices.IndexFunc(open, func(c part) bool { return c.Name == name })
				if i < 0 {
					k.skip("a result without a call")
					continue
				}
				text := canonical(r.at("response").raw())
				if names := r.at("response").names(); len(names) == 1 && r.at("response").at(names[0]).text() != "" {
					text = r.at("response").at(names[0]).text() // each client has its own name for it
				}
				k.add("user", part{Kind: "result", Text: text, ID: open[i].ID})
				open = slices.Delete(open, i, i+1)
			case p.at("thought").yes():
				k.add(role, part{Kind: "thinking", Text: p.at("text").text(), Sig: sig})
			case p.at("text").there():
				k.add(role, part{Kind: "text", Text: p.at("text").text(), Sig: sig})
			case either(p, "inlineData", "inline_data").there():
				d := either(p, "inlineData", "inline_data")
				mime := either(d, "mimeType", "mime_type").text()
				if !strings.HasPrefix(mime, "image/") {
					k.skip("a file")
				}
				k.add(role, image(mime, strings.NewReplacer("-", "+", "_", "/").Replace(d.at("data").text())))
			default:
				k.skip("a part of kind " + strings.Join(p.names(), " "))
			}
		}
	}
}

func (k *taker) chat(v value) {
	for _, t := range v.at("tools").items() {
		if t.at("type").text() != "function" {
			k.skip("a tool of the vendor")
		}
		f := t.at("function")
		k.Tools = append(k.Tools, toolOf(f, f.at("parameters")))
	}
	k.set(v, []string{"max_tokens", "max_completion_tokens"}, "temperature", "top_p", "stop")
	k.choose(v.at("tool_choice").text(), v.at("tool_choice").at("function").at("name").text())
	for i, m := range v.at("messages").items() {
		role := m.at("role").text()
		switch role {
		case "system", "developer":
			if i > 0 && k.System == "" || len(k.Turns) > 0 {
				k.skip("a system message inside the conversation")
			}
			k.System = strings.TrimPrefix(k.System+"\n"+join(m.at("content")), "\n")
			continue
		case "tool":
			k.add("user", part{Kind: "result", Text: join(m.at("content")), ID: m.at("tool_call_id").text()})
			continue
		}
		for _, name := range []string{"reasoning_content", "reasoning"} {
			if t := m.at(name).text(); t != "" {
				k.add(role, part{Kind: "thinking", Text: t})
				break
			}
		}
		if s := m.at("content").text(); s != "" {
			k.add(role, part{Kind: "text", Text: s})
		}
		for _, b := range m.at("content").items() {
			switch b.at("type").text() {
			case "text":
				k.add(role, part{Kind: "text", Text: b.at("text").text()})
			case "thinking":
				k.add(role, part{Kind: "thinking", Text: join(b.at("thinking"))})
			case "image_url":
				address := b.at("image_url").at("url").text()
				head, b64, ok := strings.Cut(address, ";base64,")
				if !ok {
					k.skip("an image by address")
				}
				k.add(role, image(strings.TrimPrefix(head, "data:"), b64))
			default:
				k.skip("a part of kind " + b.at("type").text())
			}
		}
		for _, c := range m.at("tool_calls").items() {
			f := c.at("function")
			k.add(role, part{Kind: "call", Name: f.at("name").text(), Args: canonical(f.at("arguments").text()), ID: c.at("id").text()})
		}
	}
}

func (k *taker) responses(v value) {
	k.System = v.at("instructions").text()
	for _, name := range []string{"previous_response_id", "conversation", "prompt"} {
		if v.at(name).there() {
			k.skip(name)
		}
	}
	for _, t := range v.at("tools").items() {
		if t.at("type").text() != "function" {
			k.skip("a tool of the vendor")
		}
		k.Tools = append(k.Tools, toolOf(t, t.at("parameters")))
	}
	k.set(v, []string{"max_output_tokens"}, "temperature", "top_p", "stop")
	k.choose(v.at("tool_choice").text(), v.at("tool_choice").at("name").text())
	if s := v.at("input").text(); s != "" {
		k.add("user", part{Kind: "text", Text: s})
	}
	for _, item := range v.at("input").items() {
		role := item.at("role").text()
		switch kind := item.at("type").text(); {
		case role == "system" || role == "developer":
			if len(k.Turns) > 0 {
				k.skip("a system message inside the conversation")
			}
			k.System = strings.TrimPrefix(k.System+"\n"+join(item.at("content")), "\n")
		case kind == "" || kind == "message":
			if s := item.at("content").text(); s != "" {
				k.add(role, part{Kind: "text", Text: s})
			}
			for _, c := range item.at("content").items() {
				switch c.at("type").text() {
				case "input_text", "output_text":
					k.add(role, part{Kind: "text", Text: c.at("text").text()})
				case "input_image":
					head, b64, ok := strings.Cut(c.at("image_url").text(), ";base64,")
					if !ok {
						k.skip("an image by address")
					}
					k.add(role, image(strings.TrimPrefix(head, "data:"), b64))
				default:
					k.skip("a part of kind " + c.at("type").text())
				}
			}
		case kind == "function_call":
			k.add("assistant", part{
				Kind: "call", Name: item.at("name").text(), Args: canonical(item.at("arguments").text()), ID: item.at("call_id").text(),
			})
		case kind == "function_call_output":
			if !item.at("output").there() || item.at("output").text() == "" {
				k.skip("a result of many parts")
			}
			k.add("user", part{Kind: "result", Text: item.at("output").text(), ID: item.at("call_id").text()})
		case kind == "reasoning":
			k.skip("reasoning items") // their ids and keys belong to an account
		default:
			k.skip("an item of kind " + kind)
		}
	}
}
