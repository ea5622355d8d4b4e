package pmda

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pcp-rtime/rtime/pcp"
	"golang.org/x/sys/unix"
)

// Column is a column of the table that --try prints: the values of a metric.
type Column struct{ Metric, Head string }

// try runs an agent without PCP: it prints what the agent would export, round after
// round, as a table with a row for each instance or as a line of JSON.
type try struct {
	on       bool
	json     bool
	interval float64 // seconds between two rounds
	count    int     // rounds; 0 means without end
}

func compare(a, b string) int { return cmp.Compare(a, b) }

// run prints until the rounds are done or the server is stopped.
func (t *try) run(s *Server, out io.Writer, args []string) error {
	if s.agent.Try == nil {
		return fmt.Errorf("pmda%s: --try: this agent has nothing to try", s.agent.Name)
	}
	if err := s.agent.Try(s, args); err != nil {
		return err
	}
	if !(t.interval > 0) || t.interval > 86400 {
		return fmt.Errorf("pmda%s: --every %v is not within 0..86400 seconds", s.agent.Name, t.interval)
	}
	var failed error
	redraw := !t.json && isTerminal(out)
	round := 0
	ticker := time.NewTicker(time.Duration(t.interval * float64(time.Second)))
	defer ticker.Stop()
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
			}
			s.Do(func() {
				if s.stopped {
					return
				}
				round++
				failed = t.print(s, out, redraw && round > 1)
				if failed != nil || round == t.count {
					s.stopped = true
				}
			})
		}
	}()
	s.run()
	return failed
}

func (t *try) print(s *Server, out io.Writer, redraw bool) error {
	list, err := s.Export()
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	if t.json {
		err = writeJSON(w, list)
	} else {
		if redraw {
			fmt.Fprint(w, "\x1b[H\x1b[J")
		}
		err = writeTable(w, list, s.agent.TryColumns)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// writeJSON writes one line: metric names to values, or to instances and values.
func writeJSON(w io.Writer, list []Export) error {
	metrics := make(map[string]any)
	for _, e := range list {
		if e.Err != nil {
			continue
		}
		if e.Desc.InDom == pcp.InDomNull {
			for _, v := range e.Values {
				metrics[e.Name] = jsonValue(v.Value)
			}
			continue
		}
		values := make(map[string]any)
		for _, v := range e.Values {
			values[v.Inst] = jsonValue(v.Value)
		}
		metrics[e.Name] = values
	}
	return json.NewEncoder(w).Encode(map[string]any{
		"time": time.Now().Format(time.RFC3339Nano), "metrics": metrics,
	})
}

// jsonValue keeps integers whole. A double for which JSON has no form becomes null.
func jsonValue(v pcp.Value) any {
	switch v.Type() {
	case pcp.TypeFloat, pcp.TypeDouble:
		if f, _ := v.Float64(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
		return json.Number(v.String())
	case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64:
		return json.Number(v.String())
	}
	return v.String()
}

// writeTable writes a row for each instance and a column for each of the metrics. A dash
// stands for a missing value.
func writeTable(w io.Writer, list []Export, columns []Column) error {
	rows := make(map[string][]string)
	head := []string{"INSTANCE"}
	for i, c := range columns {
		head = append(head, c.Head)
		at, ok := slices.BinarySearchFunc(list, c.Metric, func(e Export, name string) int { return compare(e.Name, name) })
		if !ok {
			return fmt.Errorf("no metric %s for a column of the table", c.Metric)
		}
		for _, v := range list[at].Values {
			if rows[v.Inst] == nil {
				rows[v.Inst] = slices.Repeat([]string{"-"}, len(columns))
			}
			rows[v.Inst][i] = cell(v.Value)
		}
	}
	names := make([]string, 0, len(rows))
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, name := range names {
		fmt.Fprintln(t, name+"\t"+strings.Join(rows[name], "\t"))
	}
	return t.Flush()
}

// cell prints fractions to three places.
func cell(v pcp.Value) string {
	switch v.Type() {
	case pcp.TypeFloat, pcp.TypeDouble:
		f, _ := v.Float64()
		return strconv.FormatFloat(f, 'f', 3, 64)
	}
	return v.String()
}

// isTerminal asks the kernel, because other character devices, such as /dev/null, are not
// terminals.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
