package openapitool

import (
	"encoding/json"
	"errors"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds a YAML document after its aliases are expanded.
const maxNodes = 2_000_000

// fromYAML writes a YAML document as JSON. Dates stay texts, and keys that are numbers, such as statuses, become texts.
func fromYAML(data []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, err
	}
	left := maxNodes
	v, err := plain(&root, 0, &left)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func plain(n *yaml.Node, depth int, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, errors.New("is too large after its aliases are expanded")
	}
	if depth > maxDepth {
		return nil, errDeep
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(n.Content[0], depth, left)
	case yaml.AliasNode:
		return plain(n.Alias, depth+1, left)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, one := range n.Content {
			v, err := plain(one, depth+1, left)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case yaml.MappingNode:
		return mapping(n, depth, left)
	case yaml.ScalarNode:
		return scalar(n)
	default:
		return nil, nil //nolint:nilnil // an empty document is null
	}
}

func mapping(n *yaml.Node, depth int, left *int) (any, error) {
	m := make(map[string]any, len(n.Content)/2)
	var merged []map[string]any
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, errors.New("has a key that is not a text")
		}
		v, err := plain(n.Content[i+1], depth+1, left)
		if err != nil {
			return nil, err
		}
		if key.Tag != "!!merge" {
			m[key.Value] = v
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			merged = append(merged, v)
		case []any:
			for _, one := range v {
				if one, ok := one.(map[string]any); ok {
					merged = append(merged, one)
				}
			}
		}
	}
	for _, from := range merged {
		for k, v := range from {
			if _, has := m[k]; !has {
				m[k] = v
			}
		}
	}
	return m, nil
}

func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil //nolint:nilnil // it is null
	case "!!bool":
		var v bool
		err := n.Decode(&v)
		return v, err
	case "!!int":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
		var v int64
		if err := n.Decode(&v); err != nil {
			return n.Value, nil //nolint:nilerr // a number that is too large stays a text
		}
		return v, nil
	case "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil && v-v == 0 { // neither infinite nor NaN
			return v, nil
		}
	}
	return n.Value, nil
}
