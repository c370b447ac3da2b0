package anthropictest

import (
	"encoding/json"
)

// Cached is what the API's cache does for one request, in blocks and bytes of the prompt
// (build-with-claude/prompt-caching#how-prompt-caching-works).
type Cached struct {
	// Read and Written are bytes of the prompt without cache points. All is its total length.
	Read, Written, All int
	// Points counts the cache points.
	Points int
}

// looksBack is how many blocks before a point the cache searches.
const looksBack = 20

// Caches returns, for each accepted request in order, what the cache does with it. The cache keeps everything up to
// each point. A point reads the longest cached beginning that ends at most 20 blocks before it.
func (s *Server) Caches() []Cached {
	kept := map[string]bool{}
	var all []Cached
	for _, r := range s.Asked() {
		if r.Refused == "" {
			all = append(all, cached(r.Body, kept))
		}
	}
	return all
}

func cached(body []byte, kept map[string]bool) (c Cached) {
	var o struct {
		Model    json.RawMessage   `json:"model"`
		Tools    []json.RawMessage `json:"tools"`
		System   []json.RawMessage `json:"system"`
		Messages []struct {
			Role    string            `json:"role"`
			Content []json.RawMessage `json:"content"`
		} `json:"messages"`
		Auto   json.RawMessage `json:"cache_control"`
		Output struct {
			Effort string `json:"effort"`
		} `json:"output_config"`
	}
	if json.Unmarshal(body, &o) != nil {
		return c
	}
	at := prefix{}
	at.add(o.Model)
	at.add(o.Output.Effort)
	var sums []string
	var ends []int
	var points []int
	block := func(role string, raw json.RawMessage) {
		var p struct {
			Point json.RawMessage `json:"cache_control"`
		}
		_ = json.Unmarshal(raw, &p)
		v := plain(raw)
		at.add(role)
		at.add(v)
		written, _ := json.Marshal(v) //nolint:errchkjson // v was parsed from JSON
		c.All += len(written)
		sums, ends = append(sums, at.sum), append(ends, c.All)
		if p.Point != nil {
			points = append(points, len(sums)-1)
		}
	}
	for _, raw := range o.Tools {
		block("tools", raw)
	}
	for _, raw := range o.System {
		block("system", raw)
	}
	for _, m := range o.Messages {
		for _, raw := range m.Content {
			block("message "+m.Role, raw)
		}
	}
	if o.Auto != nil && len(sums) > 0 {
		points = append(points, len(sums)-1)
	}
	c.Points = len(points)
	for _, p := range points {
		for i := p; i >= max(0, p-looksBack); i-- {
			if kept[sums[i]] {
				c.Read = max(c.Read, ends[i])
				break
			}
		}
	}
	for _, p := range points {
		kept[sums[p]] = true
		c.Written = max(c.Written, ends[p]-c.Read)
	}
	return c
}
