package ids_test

import (
	"log"

	"github.com/pcp-rtime/rtime/internal/ids"
)

func Example() {
	description := []byte("Gadgets made")

	f, err := ids.Open("/var/lib/pcp/config/pmda/dds.ids")
	items, err := f.Space("items", 1<<19-1)
	n, err := items.ID("DDS/IBM/Test/gadgets") // from memory, at once
	err = f.Put("metric DDS/IBM/Test/gadgets", description)
	err = f.Commit() // before anybody is told n

	log.Print(n, err)
}
