package fold

import "github.com/braidrun/braid/event"

// toolMetrics returns the metrics of a tool and adds an entry for a new tool.
func toolMetrics(m *event.Metrics, name string) *event.ToolMetrics {
	for i := range m.Tools {
		if m.Tools[i].Name == name {
			return &m.Tools[i]
		}
	}
	m.Tools = append(m.Tools, event.ToolMetrics{Name: name})
	return &m.Tools[len(m.Tools)-1]
}
