package spmi_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pcp-rtime/rtime/spmi"
)

// exampleDir makes a directory that stands for the agent's.
func exampleDir() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "spmi-example-")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "claims"), 0o700); err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// The guide's gadgets and widgets.
func Example() {
	dir, remove := exampleDir() // a real program leaves Options.Dir empty
	defer remove()

	var test struct {
		Gadgets spmi.Counter `spmi:"gadgets" descr:"Fake counter value" asn:"1" max:"100"`
		Widgets spmi.Counter `spmi:"widgets" descr:"Another fake counter value" asn:"2" max:"100"`
	}
	var mem struct {
		Level spmi.Gauge `spmi:"level" descr:"Fake quantity value" asn:"1" max:"100"`
		Queue spmi.Gauge `spmi:"queue" descr:"Another fake quantity value" asn:"2" max:"100"`
	}
	s, err := spmi.Open(spmi.Options{Dir: dir},
		&spmi.Context{Path: "DDS/IBM", Descr: "IBM-defined Dynamic Data-Suppliers", ASN: 2},
		&spmi.Context{Path: "DDS/IBM/Test", Descr: "Bogus Context Number 1", ASN: 220, Values: &test},
		&spmi.Context{Path: "DDS/IBM/Moretest", Descr: "Bogus Context Number 2", ASN: 221},
		&spmi.Context{Path: "DDS/IBM/Moretest/SubTest", Descr: "Bogus Context Number 3", ASN: 222, Values: &mem})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	test.Gadgets.Add(22)
	test.Widgets.Add(42)
	mem.Level.Set(28)
	mem.Queue.Set(62)

	fmt.Println("published:", s.Err() == nil)
	fmt.Println(test.Gadgets.Value(), test.Widgets.Value(), mem.Level.Value(), mem.Queue.Value())
	// Output:
	// published: true
	// 22 42 28 62
}

// publish does what the example in the package comment does.
func publish() error {
	var made struct {
		Gadgets spmi.Counter `descr:"Gadgets made"`
		Queue   spmi.Gauge   `descr:"Orders waiting"`
	}
	s, err := spmi.Open(spmi.Options{Vendor: "DDS/IBM"}, &spmi.Context{Path: "Test", Values: &made})
	if err != nil {
		return err
	}
	defer s.Close()
	made.Gadgets.Inc()
	return nil
}

// A supplier of two statistics, in the directory that the agent has made.
func ExampleOpen() {
	if err := publish(); err != nil {
		log.Print(err)
	}
}

// A context for each session, while the session lasts.
func ExampleSupplier_Add() {
	dir, remove := exampleDir()
	defer remove()

	type session struct {
		Requests spmi.Counter `descr:"Requests served" units:"count"`
		Busy     spmi.Timer   `descr:"Time spent on them"`
	}
	s, err := spmi.Open(spmi.Options{
		Dir: dir, Vendor: "DDS/Example",
		Volatile: []*spmi.Context{{Path: "Sessions/NAME", Descr: "One session", Values: (*session)(nil)}},
	}, &spmi.Context{Path: "Sessions", Descr: "Sessions that are open"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	var farvel session
	c := &spmi.Context{Path: "Sessions/farvel", Labels: map[string]string{"peer": "10.0.0.7"}, Values: &farvel}
	if err := s.Add(c); err != nil {
		log.Fatal(err)
	}
	farvel.Requests.Inc()
	fmt.Println(farvel.Requests.Value())

	err = s.Add(&spmi.Context{Path: "Sessions/farvel", Values: &session{}})
	fmt.Println(errors.Is(err, spmi.ErrDuplicate), err)
	fmt.Println(s.Remove(c))
	// Output:
	// 1
	// true spmi: DDS/Example/Sessions/farvel: already exists (193)
	// <nil>
}

// Values that belong together: a consumer sees both of them changed, or
// neither.
func ExampleContext_Update() {
	dir, remove := exampleDir()
	defer remove()

	var hits, lookups spmi.Counter
	cache := &spmi.Context{Path: "DDS/Example/Cache", Stats: []spmi.Stat{
		{Name: "hits", Descr: "Found in the cache", To: &hits, Units: spmi.Count},
		{Name: "lookups", Descr: "Looked up", To: &lookups, Units: spmi.Count},
	}}
	s, err := spmi.Open(spmi.Options{Dir: dir}, cache)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	cache.Update(func() {
		lookups.Add(10)
		hits.Add(8)
	})
	fmt.Println(hits.Value(), "of", lookups.Value())
	// Output: 8 of 10
}
