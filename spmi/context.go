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
	To    Handle // such as a *Counter; must not be in use while Open or Add binds it

	Min, Max int64  // the scale to show it on; both 0 for none
	ASN      uint32 // ASN.1 number, 1 to 65535, unique within the context; 0 for none
	Units    Units
	As       DataType          // present it as another type than that of To
	Help     string            // up to 4095 bytes
	Labels   map[string]string // names begin with a letter and go on with letters, digits and _
}

// Context declares a context: its path and its statistics. Open and Supplier.Add make it live.
// From then on its fields must not change.
type Context struct {
	// Path is "DDS/vendor/...", or it is relative to Options.Vendor. It has up to 63 bytes. The
	// context above must be declared before, or belong to another supplier. A vendor's context
	// need not be declared.
	Path  string
	Descr string // one line, up to 63 bytes
	ASN   uint32 // 1 to 65535, unique among this supplier's contexts with the same parent; 0 for none

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
	Labels map[string]string // as in Stat

	area atomic.Pointer[area]
}

// area is where a live context has its values.
type area struct {
	mu      sync.Mutex // held while values change together
	s       *Supplier
	words   []uint64
	update  writer.Update
	shared  writer.Area  // where the words are copied to, for a context that was published late
	gone    bool         // the word for updates belongs to another context now
	slot    *writer.Slot // nil for fixed contexts and without shared memory
	claimed string       // the path if it was claimed for this context alone, else ""
}

// Update calls f, which sets or adds to several values of the context. A consumer sees all of
// these changes or none. Updates of a context wait for each other. f should do little else. It
// must not update or remove the context, or close its supplier. Stores outside Update do not
// wait; a consumer may see them with the values from before or after the update. If f panics,
// what it did until then stays. With Options.Manual, Update also says that the supplier is
// active.
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
