package pmns_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pmns"
)

func Example() {
	var t pmns.Tree
	err := t.Add("rtime.lan.resptime", pcp.MakePMID(400, 0, 1))
	if err != nil {
		log.Fatal(err)
	}
	w := os.Stdout
	err = pmns.Write(w, &t, pmns.WriteOptions{Top: "rtime.lan", Symbol: "RTLAN", Domain: 400})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// rtime.lan {
	// 	resptime	RTLAN:0:1
	// }
}

func ExampleParse() {
	const text = `
rtime.lan {
	resptime	RTLAN:0:1
	control
}
rtime.lan.control {
	interval	RTLAN:1:0
}
`
	t, err := pmns.Parse(strings.NewReader(text), "pmns", pmns.ParseOptions{Fragment: true, Define: map[string]int{"RTLAN": 400}})
	if err != nil {
		log.Fatal(err)
	}
	leaves, err := t.Traverse("rtime")
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range leaves {
		fmt.Println(l.Name, l.PMID)
	}
	// Output:
	// rtime.lan.control.interval 400.1.0
	// rtime.lan.resptime 400.0.1
}
