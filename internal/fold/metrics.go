package fold

import "github.com/braidrun/braid/event"

// toolMetrics finds the figures of a tool and adds them for a new one.
func toolMetrics(m *event.Metrics, name string) *event.ToolMetrics {
	for i := range m.Tools {
		if m.Tools[i].Name == name {
			return &m.Tools[i]
		}
	}
	m.Tools = append(m.Tools, event.ToolMetrics{Name: name})
	return &m.Tools[len(m.Tools)-1]
}
