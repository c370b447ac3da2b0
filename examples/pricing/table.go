package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed prices.json
var pricesJSON []byte

// table is what the server knows. Its note says that it is an example, and goes with
// every price.
type table struct {
	Note     string    `json:"note"`
	Services []service `json:"services"`
}

// service is something that is sold, by its code.
type service struct {
	Code     string    `json:"code"`
	About    string    `json:"about"`
	Products []product `json:"products"`
}

// product is one thing of a service. Its price stays text: a binary fraction would
// not be what the list says.
type product struct {
	Attributes map[string]string `json:"attributes"`
	Unit       string            `json:"unit"`
	USD        string            `json:"usd"`
}

func readTable() (*table, error) {
	t := &table{}
	if err := json.Unmarshal(pricesJSON, t); err != nil {
		return nil, fmt.Errorf("the table of prices: %w", err)
	}
	return t, nil
}

// service finds one by its code. Its error is for a model, which can mend its call.
func (t *table) service(code string) (*service, error) {
	var codes []string
	for i := range t.Services {
		if t.Services[i].Code == code {
			return &t.Services[i], nil
		}
		codes = append(codes, t.Services[i].Code)
	}
	return nil, fmt.Errorf("there is no service %q; there are %s", code, strings.Join(codes, ", "))
}

// attributes names what its products differ in.
func (s *service) attributes() []string {
	names := map[string]bool{}
	for _, p := range s.Products {
		for name := range p.Attributes {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// values lists what an attribute may be.
func (s *service) values(attribute string) ([]string, error) {
	values := map[string]bool{}
	for _, p := range s.Products {
		if v, ok := p.Attributes[attribute]; ok {
			values[v] = true
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s has no attribute %q; it has %s", s.Code, attribute, strings.Join(s.attributes(), ", "))
	}
	return slices.Sorted(maps.Keys(values)), nil
}

// one finds the only product that has the attributes.
func (s *service) one(attributes map[string]string) (*product, error) {
	var found *product
	for i := range s.Products {
		p := &s.Products[i]
		fits := true
		for name, value := range attributes {
			fits = fits && p.Attributes[name] == value
		}
		switch {
		case fits && found != nil:
			return nil, fmt.Errorf("more than one product fits; filter by %s", strings.Join(s.attributes(), " and "))
		case fits:
			found = p
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no product of %s fits; get_pricing_attribute_values lists what an attribute may be", s.Code)
	}
	return found, nil
}
