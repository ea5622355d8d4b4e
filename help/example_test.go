package help_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/pcp-rtime/rtime/help"
	"github.com/pcp-rtime/rtime/pcp"
)

func ExampleParse() {
	const text = `
@ rtime.lan.resptime Response time of the latest reply
Longer text, up to the next line that begins with @.

@ RTLAN.0 Hosts
`
	entries, err := help.Parse(strings.NewReader(text), "help", map[string]int{"RTLAN": 400})
	if err != nil {
		log.Fatal(err)
	}
	t, err := help.NewTable(entries)
	if err != nil {
		log.Fatal(err)
	}
	e, ok := t.ByInDom(pcp.MakeInDom(400, 0))
	fmt.Println(ok, e.OneLine)
	// Output: true Hosts
}

func ExampleWrite() {
	err := help.Write(os.Stdout, []help.Entry{
		{Kind: help.Name, Name: "rtime.lan.resptime", OneLine: "Response time of the latest reply"},
	}, help.WriteOptions{})
	if err != nil {
		log.Fatal(err)
	}
	// Output: @ rtime.lan.resptime Response time of the latest reply
}
