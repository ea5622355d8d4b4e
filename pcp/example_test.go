package pcp_test

import (
	"errors"
	"fmt"

	"github.com/pcp-rtime/rtime/pcp"
)

func ExampleMakePMID() {
	id := pcp.MakePMID(400, 3, 17)
	fmt.Println(id, id.Domain(), id.Cluster(), id.Item())
	// Output: 400.3.17 400 3 17
}

func ExampleParseUnits() {
	for _, text := range []string{"KiB / s", "milliseconds", "count x 10^6", "power (mW)", "parsec"} {
		units, err := pcp.ParseUnits(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%v: %#08x\n", units, units.Word())
	}
	// Output:
	// Kbyte / sec: 0x1f013000
	// millisec: 0x01002000
	// count x 10^6: 0x00100600
	// power (mW): 0x00000023
	// pcp: units "parsec": "parsec" is not a unit of space, time or count
}

func ExampleUnits_Per() {
	fmt.Println(pcp.MBytes.Per(pcp.Seconds))
	// Output: Mbyte / sec
}

func ExampleAs() {
	n, err := pcp.As[int32](pcp.Num(7.9))
	fmt.Println(n, err)
	_, err = pcp.As[uint32](pcp.Num(int32(-1)))
	fmt.Println(errors.Is(err, pcp.ErrSign), err)
	// Output:
	// 7 <nil>
	// true Negative value in conversion to unsigned
}
