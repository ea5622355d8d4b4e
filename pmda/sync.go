package pmda

import (
	"errors"
	"slices"
)

// Sync makes the instances just those of want: what is not there is added, the data of what
// is there is replaced, and what want does not have is removed; its id stays reserved. It is
// Add and Remove for an agent that reads all instances at once. A name that cannot be added
// is left out, and the error names each; ids go to new names in the order of the names.
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
