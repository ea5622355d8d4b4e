package spmi

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/writer"
)

// Stat declares a statistic.
type Stat struct {
	Name  string // 1 to 31 bytes, unique within the context
	Descr string // one line, up to 63 bytes
	To    Handle // such as a *Counter; nobody may use it while Open or Add binds it

	Min, Max int64  // the scale on which to show it, 0, 0 for none
	ASN      uint32 // ASN.1 number, 1 to 65535, unique within the context; 0 for none
	Units    Units
	As       DataType          // present it as another type than that of To
	Help     string            // up to 4095 bytes
	Labels   map[string]string // names begin with a letter and go on with letters, digits and _
}

// Context declares a context: its path and the statistics in it. Open and Supplier.Add
// make it live; then its fields are not to be changed.
type Context struct {
	// Path is "DDS/vendor/..." or lies below Options.Vendor. Up to 63 bytes. The
	// context above it is declared before, or another supplier has it; a vendor's need
	// not be declared.
	Path  string
	Descr string // one line, up to 63 bytes
	ASN   uint32 // 1 to 65535, unique among all of this supplier's that has the same parent; 0 for none

	// Stats and Values declare the statistics; Values after Stats if both are there.
	// Values is a pointer to a struct; its exported fields of handle types are
	// statistics, with what Stat says in tags:
	//
	//	Widgets spmi.Counter `spmi:"widgets" descr:"Widgets made" asn:"2" min:"0" max:"100" units:"count" as:"ulong" help:"..."`
	//
	// Without a tag the name is the field's in lower case; spmi:"-" leaves it out.
	Stats  []Stat
	Values any

	Help   string            // up to 4095 bytes
	Labels map[string]string // as for Stat

	area atomic.Pointer[area]
}

// area is where a live context has its values.
type area struct {
	mu      sync.Mutex // held while values change together
	s       *Supplier
	words   []uint64
	update  writer.Update
	shared  writer.Area  // where to the words are copied, for a context that was published late
	gone    bool         // the word for updates is another context's
	slot    *writer.Slot // nil for fixed contexts and without shared memory
	claimed string       // the path, if it was claimed for this context alone
}

// Update calls f, in which several values of the context are set or added to: a
// consumer sees all of that or none of it. Updates of a context wait for each other; f
// should do little else, and must not update or remove the context or close its
// supplier. Values that are
// stored without Update do not wait, and may be seen with either state of the others.
// If f panics, what it did until then stands. With Options.Manual, Update also says that
// the supplier is active.
func (c *Context) Update(f func()) {
	a := c.area.Load()
	if a == nil {
		f()
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone {
		f()
		return
	}
	if a.s.manual {
		a.s.stamp(time.Now())
	}
	a.update.Begin()
	defer a.updated()
	f()
}

func (a *area) updated() {
	a.update.End()
	if a.shared.Words != nil {
		a.copy()
	}
}
