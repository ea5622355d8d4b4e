package libspmi_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/layout"
	"github.com/pcp-rtime/rtime/spmi"
)

// everything is a statistic of each type that Go can write.
type everything struct {
	A spmi.CounterOf[uint64] `descr:"of 64 bits" asn:"1" min:"-5" max:"100" units:"byte/s" as:"long" help:"Long help."`
	B spmi.QuantityOf[int64]
	C spmi.QuantityOf[uint32]
	D spmi.QuantityOf[int32]
	E spmi.QuantityOf[uint16]
	F spmi.QuantityOf[int16]
	G spmi.QuantityOf[uint8]
	H spmi.QuantityOf[uintptr]
	I spmi.FloatOf[float32]
	J spmi.FloatCounter
	K spmi.Timer
}

func (e *everything) set() {
	e.A.Set(math.MaxUint64)
	e.B.Set(math.MinInt64)
	e.C.Set(math.MaxUint32)
	e.D.Set(math.MinInt32)
	e.E.Set(math.MaxUint16)
	e.F.Set(math.MinInt16)
	e.G.Set(255)
	e.H.Set(12345)
	e.I.Set(-1.5)
	e.J.Set(0.25)
	e.K.Set(12*time.Second + 34*time.Microsecond)
}

// listed is how the C reader prints it.
const listed = `  a <of 64 bits> -5..100 0 0 as 1, 8 bytes, asn 1, units 1f003000 help<Long help.>: 18446744073709551615
  b <> 0..0 1 1 as 1, 8 bytes, asn 0, units 00000000: -9223372036854775808
  c <> 0..0 1 2 as 2, 4 bytes, asn 0, units 00000000: 4294967295
  d <> 0..0 1 3 as 3, 4 bytes, asn 0, units 00000000: -2147483648
  e <> 0..0 1 4 as 4, 2 bytes, asn 0, units 00000000: 65535
  f <> 0..0 1 5 as 5, 2 bytes, asn 0, units 00000000: -32768
  g <> 0..0 1 6 as 6, 1 bytes, asn 0, units 00000000: 255
  h <> 0..0 1 11 as 11, 8 bytes, asn 0, units 00000000: 12345
  i <> 0..0 1 9 as 9, 4 bytes, asn 0, units 00000000: -1.5
  j <> 0..0 0 10 as 10, 8 bytes, asn 0, units 00000000: 0.25
  k <> 0..0 0 8 as 8, 8 bytes, asn 0, units 00000000: 12.000034
`

// reader builds the C reader.
func reader(t *testing.T, cc string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "reads")
	args := strings.Fields(cc + " -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Wextra -Werror -O2 -Iinclude -Isrc")
	run(t, args[0], append(args[1:], "-o", program, "test/reads.c")...)
	return program
}

// segments makes a directory for them, whose name is short enough for C.
func segments(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "spmi-reads-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, layout.ClaimsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func supplier(t *testing.T, o spmi.Options, contexts ...*spmi.Context) *spmi.Supplier {
	t.Helper()
	s, err := spmi.Open(o, contexts...)
	if err == nil {
		t.Cleanup(func() { s.Close() })
		err = s.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func eachWord(t *testing.T, test func(t *testing.T, program string)) {
	for _, cc := range []string{"gcc", "gcc -m32"} {
		t.Run(cc, func(t *testing.T) { test(t, reader(t, cc)) })
	}
}

// TestCReads: C reads what Go writes: names, types, texts and values, of fixed and of
// volatile contexts.
func TestCReads(t *testing.T) {
	eachWord(t, func(t *testing.T, program string) {
		dir := segments(t)
		var fixed, there, gone everything
		s := supplier(t, spmi.Options{Dir: dir, Name: "gopher", Vendor: "DDS/IBM", Volatile: []*spmi.Context{{Path: "Test/X", Values: &there}}},
			&spmi.Context{Path: "DDS/IBM", Descr: "IBM-defined Dynamic Data-Suppliers", ASN: 2},
			&spmi.Context{Path: "Test", Descr: "Bogus Context Number 1", ASN: 220, Help: "More of it.", Values: &fixed})
		bingo := &spmi.Context{Path: "Test/Bingo", Descr: "Dynamically added", ASN: 7, Values: &there,
			Help: "Help of one.", Labels: map[string]string{"host": "farvel"}}
		bango := &spmi.Context{Path: "Test/Bango", Values: &gone}
		for _, c := range []*spmi.Context{bango, bingo} {
			if err := s.Add(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Remove(bango); err != nil {
			t.Fatal(err)
		}
		fixed.set()
		there.set()
		want := "gopher, language 2, word 8\nDDS/IBM <IBM-defined Dynamic Data-Suppliers> asn 2\n" +
			"DDS/IBM/Test <Bogus Context Number 1> asn 220 help<More of it.>\n" + listed +
			"DDS/IBM/Test/Bingo <Dynamically added> asn 7 like DDS/IBM/Test/X help<Help of one.> labels<{\"host\":\"farvel\"}>\n" + listed
		out, err := exec.Command(program, dir, "list").CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%v:\n%swant\n%s", err, out, want)
		}
	})
}

// TestCWatches: C sees all of an update by Go or none of it, and of volatile contexts
// that come and go never half a record.
func TestCWatches(t *testing.T) {
	eachWord(t, func(t *testing.T, program string) {
		for _, path := range []string{"DDS/V/ten", "DDS/V/ten/volatile"} {
			dir := segments(t)
			ten := func(path string) (*spmi.Context, *[10]spmi.Counter) {
				c, n := &spmi.Context{Path: path, Descr: path}, new([10]spmi.Counter)
				for i := range n {
					c.Stats = append(c.Stats, spmi.Stat{Name: fmt.Sprint("n", i), To: &n[i]})
				}
				return c, n
			}
			fixed, a := ten("DDS/V/ten")
			volatile, b := ten("DDS/V/ten/volatile")
			s := supplier(t, spmi.Options{Dir: dir, Volatile: []*spmi.Context{volatile}}, fixed)
			if err := s.Add(volatile); err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			var wg sync.WaitGroup
			loop := func(f func(i int)) {
				wg.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						default:
							f(i)
						}
					}
				})
			}
			update := func(c *spmi.Context, n *[10]spmi.Counter) {
				c.Update(func() {
					for i := range n {
						n[i].Inc()
					}
				})
			}
			loop(func(int) { update(fixed, a); update(volatile, b) })
			loop(func(i int) {
				c, _ := ten(fmt.Sprintf("DDS/V/ten/%0*d", 1+i%20, i%10))
				if err := s.Add(c); err != nil {
					t.Error(err)
				}
				if err := s.Remove(c); err != nil {
					t.Error(err)
				}
			})
			out, err := exec.Command(program, dir, "watch", path).CombinedOutput()
			close(stop)
			wg.Wait()
			if err != nil {
				t.Errorf("%s: %v\n%s", path, err, out)
			}
		}
	})
}
