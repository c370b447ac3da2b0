package agentfile

import (
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/flow"
)

// graph reads a graph.
func (l *loader) graph(f *fields, name string, depth int) (*braid.Agent, *flow.Graph) {
	g := &flow.Graph{Name: name, Entry: f.texts("entry"), Answer: f.texts("answer"), Parallel: f.number("parallel")}
	var nodes, edges []*yaml.Node
	f.each("nodes", func(n *yaml.Node) {
		nodes = append(nodes, n)
		g.Nodes = append(g.Nodes, l.node(l.fields(n), depth))
	})
	f.each("edges", func(n *yaml.Node) {
		edges = append(edges, n)
		g.Edges = append(g.Edges, l.edge(l.fields(n)))
	})
	if l.err != nil {
		return nil, nil
	}
	if list := g.Problems(); len(list) > 0 {
		p, place := &list[0], f.node
		switch {
		case p.Edge > 0:
			place = edges[p.Edge-1]
		case p.Node != "":
			for i := range g.Nodes {
				if g.Nodes[i].Name == p.Node {
					place = nodes[i] // of two with one name, the second
				}
			}
		}
		message := p.Message
		if p.Node != "" {
			message = "node " + strconv.Quote(p.Node) + ": " + message
		}
		l.fail(place, p.Hint, "%s", message)
		return nil, nil
	}
	return g.Agent(), g
}

// node reads a node.
func (l *loader) node(f *fields, depth int) flow.Node {
	n := flow.Node{
		Name: f.text("name"), Agent: l.agentOf(f.get("agent"), depth), Tool: l.nodeToolOf(f.get("tool")), Ask: l.question(f.get("ask")),
		FanIn: l.fanIn(f), Visits: f.number("visits"), Feed: l.feed(f), Retries: f.number("retries"),
		RetryWait: f.duration("retry_wait"), Timeout: f.duration("timeout"), In: f.json("in"), Out: f.json("out"),
	}
	f.end()
	return n
}

// question reads a question: a text, or a mapping with a schema.
func (l *loader) question(n *yaml.Node) *flow.Question {
	if l.err != nil || n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return &flow.Question{Text: n.Value}
	}
	f := l.fields(n)
	q := &flow.Question{Text: f.text("text"), Schema: f.json("schema")}
	f.end()
	return q
}

// fanIn reads how many edges a node waits for: "all", "any" or a number.
func (l *loader) fanIn(f *fields) flow.FanIn {
	switch text := f.text("fan_in"); text {
	case "", "all":
		return flow.FanInAll
	case "any":
		return flow.FanInAny
	default:
		n, err := strconv.Atoi(text)
		if l.err == nil && (err != nil || n < 1) {
			l.fail(f.at("fan_in"), "write all, any or a number", "fan_in is %q", text)
		}
		return flow.FanInAtLeast(n)
	}
}

// feed reads what a node's input is made of.
func (l *loader) feed(f *fields) flow.Feed {
	feed := flow.Feed(f.text("feed"))
	switch feed {
	case "", flow.FeedTask, flow.FeedOutputs, flow.FeedTaskAndOutputs:
	default:
		l.fail(f.at("feed"), "write task, outputs or task_and_outputs", "feed is %q", string(feed))
	}
	return feed
}

// edge reads an edge.
func (l *loader) edge(f *fields) flow.Edge {
	e := flow.Edge{From: f.text("from"), To: f.text("to"), Else: f.yes("else"), Failed: f.yes("failed")}
	if v := f.get("if"); v != nil {
		e.If = l.condition(l.fields(v))
	}
	f.end()
	return e
}

// condition reads a condition. It has exactly one of contains, equals, matches, field and call; equals may go with field.
func (l *loader) condition(f *fields) (c flow.Condition) {
	label := f.text("label")
	var found []string
	for _, key := range []string{"contains", "matches", "field", "call"} {
		if f.get(key) != nil {
			found = append(found, key)
		}
	}
	equals := f.get("equals")
	switch {
	case l.err != nil:
		return c
	case len(found) == 0 && equals != nil:
		c = flow.Equals(f.text("equals"))
	case len(found) != 1 || equals != nil && found[0] != "field":
		l.fail(f.node, "write one of contains, equals, matches, field with equals, and call", "the condition is not clear")
	case found[0] == "contains":
		c = flow.Contains(f.text("contains"))
	case found[0] == "matches":
		expression, err := regexp.Compile(f.text("matches"))
		if err != nil {
			l.fail(f.at("matches"), "write a regular expression of RE2", "matches is not a regular expression: %v", err)
			return c
		}
		c = flow.Matches(expression)
	case found[0] == "field":
		if equals == nil {
			l.fail(f.at("field"), "add equals", "the condition has a field and no value")
			return c
		}
		c = flow.Field(f.text("field"), f.json("equals"))
	default:
		name := f.text("call")
		test := l.names.Conditions[name]
		if test == nil {
			l.fail(f.at("call"), "pass it in Names.Conditions", "there is no condition %q", name)
		}
		c = flow.When(name, test)
	}
	if label != "" {
		c.Label = label
	}
	f.end()
	return c
}
