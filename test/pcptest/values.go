package pcptest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var instLine = regexp.MustCompile(`^\s+inst \[(-?\d+) or "(.*)"\] value (.*)$`)

// Value is the value of one instance, as pminfo prints it.
type Value struct {
	ID   int
	Text string
}

// Values fetches a metric by pminfo -f. The key is the name of the instance, empty
// for a metric with one value. Where there is no value the map is empty.
func (p *PCP) Values(metric string) map[string]Value {
	p.t.Helper()
	v, err := p.TryValues(metric)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// TryValues is Values for a metric that may be refused.
func (p *PCP) TryValues(metric string) (map[string]Value, error) {
	p.t.Helper()
	r := p.Try("pminfo", "-h", "local:", "-f", metric)
	if r.Code != 0 || strings.Contains(r.Out, "Error:") || strings.Contains(r.Err, "Error:") {
		return nil, fmt.Errorf("%v", r)
	}
	values := make(map[string]Value)
	for _, line := range strings.Split(r.Out, "\n") {
		if m := instLine.FindStringSubmatch(line); m != nil {
			id, _ := strconv.Atoi(m[1])
			values[m[2]] = Value{id, strings.Trim(m[3], `"`)}
		} else if text, ok := strings.CutPrefix(line, "    value "); ok {
			values[""] = Value{-1, strings.Trim(text, `"`)}
		}
	}
	return values, nil
}

// Value fetches a metric with one value.
func (p *PCP) Value(metric string) string {
	p.t.Helper()
	v, ok := p.Values(metric)[""]
	if !ok {
		p.t.Fatalf("%s has no value", metric)
	}
	return v.Text
}

// Number fetches the value of an instance, "" for a metric with one value, as a
// number; it has to be there.
func (p *PCP) Number(metric, inst string) float64 {
	p.t.Helper()
	v, ok := p.Values(metric)[inst]
	if !ok {
		p.t.Fatalf("%s[%q] has no value", metric, inst)
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err != nil {
		p.t.Fatalf("%s[%q]: %v", metric, inst, err)
	}
	return f
}

// IDs returns the ids of the instances of a metric by their names.
func (p *PCP) IDs(metric string) map[string]int {
	p.t.Helper()
	ids := make(map[string]int)
	for name, v := range p.Values(metric) {
		ids[name] = v.ID
	}
	return ids
}
