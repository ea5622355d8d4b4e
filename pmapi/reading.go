package pmapi

import (
	"context"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
)

// Reading is a metric with its values and the names of their instances.
type Reading struct {
	Metric
	Time   time.Time // when pmcd had collected the values, by its host's clock
	Err    error     // a pcp.Error that says why there are no values, or nil
	Values []Value
}

// Value is the value of one instance. A metric without an instance domain has one Value,
// whose ID is pcp.InstNull and whose Name is empty. The Name is also empty if the instance
// has gone since the fetch.
type Value struct {
	pcp.Instance
	Value pcp.Value
}

// Fetch reads metrics by name from the pmcd of a host, and closes the connection again. The
// host has the notation of ParseHost; "" is this machine. See Client.Read.
func Fetch(ctx context.Context, host string, names ...string) ([]Reading, error) {
	c, err := NewClient(host, nil)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Read(ctx, names...)
}

// Read looks up metrics by name, fetches them together, and looks up the names of their
// instances. The Readings are in the order of the names. If a name is not known, the error
// says so, as that of Metrics does, and nothing is fetched. A program that reads the same
// metrics again and again should call Metrics once and then Fetch, to save the look-ups.
func (r requests) Read(ctx context.Context, names ...string) ([]Reading, error) {
	metrics, err := r.Metrics(ctx, names...)
	if err != nil || len(metrics) == 0 {
		return nil, err
	}
	var s Sample
	if err := r.Fetch(ctx, &s, nil, metrics...); err != nil {
		return nil, err
	}
	known := make(map[pcp.InDom]map[int32]string)
	list := make([]Reading, len(metrics))
	for i, m := range metrics {
		list[i] = Reading{Metric: *m, Time: s.Time}
		if set := &s.Sets[i]; set.Err != 0 {
			list[i].Err = set.Err
			continue
		}
		ids, ok := known[m.InDom]
		if !ok {
			if ids, err = r.instanceNames(ctx, m.InDom); err != nil {
				return nil, err
			}
			known[m.InDom] = ids
		}
		for _, v := range s.Sets[i].Values {
			list[i].Values = append(list[i].Values, Value{pcp.Instance{ID: v.Inst, Name: ids[v.Inst]}, v.Value})
		}
	}
	return list, nil
}

// instanceNames returns the names of the instances by their numbers.
func (r requests) instanceNames(ctx context.Context, d pcp.InDom) (map[int32]string, error) {
	if d == pcp.InDomNull {
		return nil, nil
	}
	list, err := r.Instances(ctx, d)
	if err != nil {
		return nil, err
	}
	names := make(map[int32]string, len(list))
	for _, i := range list {
		names[i.ID] = i.Name
	}
	return names, nil
}
