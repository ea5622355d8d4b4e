package readertest

import (
	"math"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/internal/ddsseg/reader"
)

// Churn calls Peek to read the volatile contexts of a busy supplier, until the supplier
// was quiet during many of these readings. The path of each context ends in a digit. All
// its values are that digit, or 0 before they are set.
func Churn(t *testing.T, r *reader.Reader) {
	t.Helper()
	c := churn{t: t, r: r, at: make(map[uint32]*reader.Context)}
	for end := time.Now().Add(2 * time.Minute); c.good < 500 || c.set < 20; {
		if time.Now().After(end) {
			t.Fatalf("quiet around %d readings, of which %d of values", c.good, c.set)
		}
		if _, err := r.Scan(&c, math.MaxInt); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			c.read()
		}
	}
}

type churn struct {
	t         *testing.T
	r         *reader.Reader
	at        map[uint32]*reader.Context
	good, set int
}

func (c *churn) Gone(slot uint32) { delete(c.at, slot) }

func (c *churn) Came(slot uint32, cx *reader.Context, err error) {
	if err != nil {
		c.t.Fatal(err)
	}
	c.at[slot] = cx
}

// read reads all contexts once.
func (c *churn) read() {
	for _, cx := range c.at {
		fields, out := make([]reader.Field, len(cx.Stats)), make([]uint64, len(cx.Stats))
		for i := range cx.Stats {
			fields[i] = cx.Stats[i].Field()
		}
		good := false
		if err := c.r.Guard(func() { good = c.r.Peek(&cx.Place, fields, out) && c.r.Quiet() }); err != nil {
			c.t.Fatal(err)
		}
		if !good {
			continue
		}
		c.good++
		for _, v := range out {
			if v == 0 {
				continue
			}
			if c.set++; v != uint64(cx.Path[len(cx.Path)-1]-'0') {
				c.t.Fatalf("%s has another's value %d", cx.Path, v)
			}
		}
	}
}
