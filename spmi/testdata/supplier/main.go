// Supplier publishes a fixed and a volatile context in the directory that it is given,
// and stays until its input ends. A test builds it for a machine with another word.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/pcp-rtime/rtime/spmi"
)

type values struct {
	Big    spmi.Counter
	Level  spmi.QuantityOf[int16]
	Where  spmi.QuantityOf[uintptr]
	Load   spmi.Float
	Always spmi.Timer
}

func (v *values) set() {
	v.Big.Set(1 << 40)
	v.Level.Set(-3)
	v.Where.Set(0xfffffff0)
	v.Load.Set(0.5)
	v.Always.Set(1e9)
}

func main() {
	var fixed, volatile values
	s, err := spmi.Open(spmi.Options{Dir: os.Args[1], Volatile: []*spmi.Context{{Path: "DDS/V/a/ONE", Values: &volatile}}},
		&spmi.Context{Path: "DDS/V/a", Values: &fixed})
	if err == nil {
		defer s.Close()
		if err = s.Err(); err == nil {
			err = s.Add(&spmi.Context{Path: "DDS/V/a/b", Values: &volatile})
		}
	}
	fixed.set()
	volatile.set()
	fmt.Println(err)
	io.Copy(io.Discard, os.Stdin)
}
