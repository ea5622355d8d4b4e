package pmda

import (
	"errors"
	"slices"
)

// Sync makes the instances those of want. It adds what is not there, replaces the data of
// what is there, and removes what want does not have, whose ids stay reserved. It is Add
// and Remove for an agent that reads all instances at once. It leaves out names that cannot
// be added, and the error names each of them. New names get ids in the order of the names.
func (d *InDom[T]) Sync(want map[string]T) error {
	var gone []string
	for i := range d.known {
		if _, ok := want[d.known[i].name]; !ok {
			gone = append(gone, d.known[i].name)
		}
	}
	for _, name := range gone {
		d.Remove(name)
	}
	var bad []error
	var added []string
	for name, data := range want {
		if i, ok := d.find(name); ok {
			d.all.data[i] = data
			d.gen++
		} else {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	for _, name := range added {
		if _, err := d.Add(name, want[name]); err != nil {
			bad = append(bad, err)
		}
	}
	return errors.Join(bad...)
}
