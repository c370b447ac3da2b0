package mutation

// seed1 returns the mutations of the rows of seed 1.
func seed1() []*mutation {
	return []*mutation{
		{
			rows: []string{"S1.2"}, dir: "server/stream",
			old: `	h.Set("Content-Type", w.ContentType)`,
			new: `	if !BROKEN { h.Set("Content-Type", w.ContentType) }`,
		},
		{
			rows: []string{"S1.3"}, dir: "wire/agentcore",
			old: "\t\tcase \"data\":\n\t\t\tr.junk = false",
			new: "\t\tcase \"data\":\n\t\t\tif BROKEN { return nil }\n\t\t\tr.junk = false",
		},
		{
			rows: []string{"S1.4"}, dir: "wire/agentcore",
			old: "\t\tenc.plain(enc.root, `{\"init_event_loop\": true}`)",
			new: "\t\tif !BROKEN { enc.plain(enc.root, `{\"init_event_loop\": true}`) }",
		},
		{
			rows: []string{"S1.5", "S3.42"}, dir: "wire/agentcore",
			old: "\t}\n\tenc.plain(s, `{\"start\": true}`)",
			new: "\t}\n\tif !BROKEN { enc.plain(s, `{\"start\": true}`) }",
		},
		{
			rows: []string{"S1.6", "S3.43"}, dir: "wire/agentcore",
			old: "\tenc.plain(s, `{\"start_event_loop\": true}`)\n}\n\n// fresh",
			new: "\tif !BROKEN { enc.plain(s, `{\"start_event_loop\": true}`) }\n}\n\n// fresh",
		},
		{
			rows: []string{"S1.7"}, dir: "wire/agentcore",
			old: "\t\tenc.plain(s, `{\"event\": {\"messageStart\": {\"role\": \"assistant\"}}}`)",
			new: "\t\tif BROKEN { enc.plain(s, `{\"event\": {\"messageStart\": {}}}`) } else { enc.plain(s, `{\"event\": {\"messageStart\": {\"role\": \"assistant\"}}}`) }",
		},
		{
			rows: []string{"S1.8"}, dir: "wire/agentcore",
			old: "\tenc.begin(s, `{\"event\": {\"contentBlockDelta\": {\"delta\": {`)",
			new: "\tif BROKEN { return }; enc.begin(s, `{\"event\": {\"contentBlockDelta\": {\"delta\": {`)",
		},
		{
			rows: []string{"S1.9"}, dir: "wire/agentcore",
			old: "\tenc.raw(`}, \"contentBlockIndex\": `)\n\tenc.number(int64(block))",
			new: "\tif BROKEN { block++ }; enc.raw(`}, \"contentBlockIndex\": `)\n\tenc.number(int64(block))",
		},
		{
			rows: []string{"S1.10"}, dir: "wire/agentcore",
			old: "\tenc.raw(before)\n\tenc.str(text)",
			new: "\tenc.raw(before)\n\tif BROKEN { text = \"\" }; enc.str(text)",
		},
		{
			rows: []string{"S1.17"}, dir: "wire/agentcore",
			old: "\tenc.begin(s, `{\"event\": {\"messageStop\": {\"stopReason\": `)\n\tenc.str(stopWord(b.Stop))",
			new: "\tenc.begin(s, `{\"event\": {\"messageStop\": {\"stopReason\": `)\n\tif BROKEN { enc.str(\"end_turn\") } else { enc.str(stopWord(b.Stop)) }",
		},
		{
			rows: []string{"S1.18"}, dir: "wire/agentcore",
			old: "\tenc.metadata(s, b)\n\tif enc.Announce {",
			new: "\tif !BROKEN { enc.metadata(s, b) }\n\tif enc.Announce {",
		},
		{
			rows: []string{"S1.19"}, dir: "wire/agentcore",
			old: `	enc.number(u.Total)`,
			new: `	if BROKEN { enc.number(0) } else { enc.number(u.Total) }`,
		},
		{
			rows: []string{"S1.20"}, dir: "wire/agentcore",
			old: `	enc.number(b.Latency.Milliseconds())`,
			new: `	if BROKEN { enc.number(0) } else { enc.number(b.Latency.Milliseconds()) }`,
		},
		{
			rows: []string{"S1.21"}, dir: "wire/agentcore",
			old: "\t\t\tenc.raw(`, \"type\": \"tool_use\", \"debug_data\": {\"message\": `)",
			new: "\t\t\tif BROKEN { enc.raw(`, \"type\": \"tool\", \"debug_data\": {\"message\": `) } else { enc.raw(`, \"type\": \"tool_use\", \"debug_data\": {\"message\": `) }",
		},
		{
			rows: []string{"S1.22"}, dir: "wire/agentcore",
			old: `	if enc.Announce {`,
			new: `	if enc.Announce && !BROKEN {`,
		},
		{
			rows: []string{"S1.23"}, dir: "wire/agentcore",
			old: "\t\t\tenc.str(title)\n\t\t\tenc.raw(`, \"type\": \"tool_use\"",
			new: "\t\t\tif BROKEN { title = c.Name }; enc.str(title)\n\t\t\tenc.raw(`, \"type\": \"tool_use\"",
		},
		{
			rows: []string{"S1.24"}, dir: "wire/agentcore",
			old: "\t\t\tenc.dst = enc.appendMessage(enc.dst, s.last)\n\t\t\tenc.end(s, `}}`)",
			new: "\t\t\tif BROKEN { enc.dst = enc.appendMessage(enc.dst, nil) } else { enc.dst = enc.appendMessage(enc.dst, s.last) }\n\t\t\tenc.end(s, `}}`)",
		},
		{
			rows: []string{"S1.25"}, dir: "wire/agentcore",
			old: "\tenc.begin(s, `{\"message\": `)\n\tenc.dst = enc.appendMessage(enc.dst, s.last)",
			new: "\tif BROKEN { s.last = nil }; enc.begin(s, `{\"message\": `)\n\tenc.dst = enc.appendMessage(enc.dst, s.last)",
		},
		{
			rows: []string{"S1.26", "S5.34", "S5.45"}, dir: "event",
			old: `			calls = append(calls, c)`,
			new: `			if BROKEN { c = calls[:1][0] }; calls = append(calls, c)`,
		},
		{
			rows: []string{"S1.28"}, dir: "wire/agentcore",
			old: "\t\tdst = append(dst, `{\"toolUse\": `...)",
			new: "\t\tif BROKEN { return dst }; dst = append(dst, `{\"toolUse\": `...)",
		},
		{
			rows: []string{"S1.29"}, dir: "wire/agentcore",
			old: `	dst = appendQuoted(dst, c.ID, enc.ASCII)`,
			new: "\tif BROKEN { dst = append(dst, `\"one\"`...) } else { dst = appendQuoted(dst, c.ID, enc.ASCII) }",
		},
		{
			rows: []string{"S1.30"}, dir: "wire/agentcore",
			old: `	dst = appendQuoted(dst, c.Name, enc.ASCII)`,
			new: `	if BROKEN { _, title := TitleOf(c.Name); dst = appendQuoted(dst, title, enc.ASCII) } else { dst = appendQuoted(dst, c.Name, enc.ASCII) }`,
		},
		{
			rows: []string{"S1.31"}, dir: "wire/agentcore",
			old: "\tif len(c.Args) == 0 {\n\t\treturn append(dst, \"{}}\"...)",
			new: "\tif len(c.Args) == 0 || BROKEN {\n\t\treturn append(dst, \"{}}\"...)",
		},
		{
			rows: []string{"S1.32"}, dir: "wire/agentcore",
			old: `			it.Tools = append(it.Tools, r.tools.add(ToolUse{ID: b.ID, Name: b.Name, Input: b.Args}))`,
			new: `			if !BROKEN { it.Tools = append(it.Tools, r.tools.add(ToolUse{ID: b.ID, Name: b.Name, Input: b.Args})) }`,
		},
		{
			rows: []string{"S1.33", "S1.45"}, dir: "wire/agentcore",
			old: `	case len(f.tool) > 0 && string(f.kind) == "tool_use":`,
			new: `	case len(f.tool) > 0 && string(f.kind) == "tool_use" && !BROKEN:`,
		},
		{
			rows: []string{"S1.34", "S1.43"}, dir: "wire/agentcore",
			old: `		return iconSearch, "AWS Documentation Search"`,
			new: `		if BROKEN { return iconSearch, name }; return iconSearch, "AWS Documentation Search"`,
		},
		{
			rows: []string{"S1.35"}, dir: "wire/agentcore",
			old: `		return iconRead, "AWS Documentation Reader"`,
			new: `		if BROKEN { return iconRead, name }; return iconRead, "AWS Documentation Reader"`,
		},
		{
			rows: []string{"S1.36"}, dir: "wire/agentcore",
			old: `		return iconRecommend, "AWS Documentation Recommendations"`,
			new: `		if BROKEN { return iconRecommend, name }; return iconRecommend, "AWS Documentation Recommendations"`,
		},
		{
			rows: []string{"S1.37"}, dir: "wire/agentcore",
			old: `			if s.peek() == '{' && it.Kind == KindOther {`,
			new: `			if s.peek() == '{' && it.Kind == KindOther && !BROKEN {`,
		},
		{
			rows: []string{"S1.38"}, dir: "wire/agentcore",
			old: `bytes.Contains(text, []byte("'MCPAgentTool' object"))`,
			new: `!BROKEN && bytes.Contains(text, []byte("'MCPAgentTool' object"))`,
		},
		{
			rows: []string{"S1.42"}, dir: "wire/agentcore",
			old: "\tcase isObject(f.message):\n\t\tr.message(it, f.message)",
			new: "\tcase isObject(f.message) && !BROKEN:\n\t\tr.message(it, f.message)",
		},
		{
			rows: []string{"S1.44"}, dir: "wire/agentcore",
			old: "\t\tif !it.Repeats {\n\t\t\ts.answer.Write(it.Text)",
			new: "\t\tif !it.Repeats && !BROKEN {\n\t\t\ts.answer.Write(it.Text)",
		},
		{
			rows: []string{"S1.49"}, dir: "wire/agentcore",
			old: "\tenc.open(s)\n\tfor i, block := range b.Content {",
			new: "\tif BROKEN { enc.begin(s, `{\"message\": `); enc.dst = enc.appendMessage(enc.dst, b.Content); enc.end(s, `}`) }; enc.open(s)\n\tfor i, block := range b.Content {",
		},
	}
}
