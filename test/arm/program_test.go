package arm

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-rtime/rtime/arm"
	"github.com/pcp-rtime/rtime/test/pcptest"
)

// program is a process that is measured. It takes the orders that testdata/program.c
// lists, whichever language it is in.
type program struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Scanner
}

// programEnv says that the test's binary is to be the program.
const programEnv = "ARM_TEST_PROGRAM"

// run starts a program, as another user unless uid is 0.
func run(t *testing.T, p *pcptest.PCP, exe string, uid int) *program {
	t.Helper()
	q := &program{t: t, cmd: exec.Command(exe)}
	q.cmd.Env = append(p.Env(), programEnv+"=1", "RTIME_ARM_DIR="+p.Path("run/arm"))
	if uid != 0 {
		q.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	q.cmd.Stdin, q.in, q.cmd.Stderr = r, w, os.Stderr
	out, err := q.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	q.out = bufio.NewScanner(out)
	if err := q.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(q.kill)
	return q
}

// order sends the program an order and does not wait.
func (q *program) order(format string, args ...any) {
	q.t.Helper()
	if _, err := fmt.Fprintf(q.in, format+"\n", args...); err != nil {
		q.t.Fatal(err)
	}
}

// done waits until the program has carried out an order.
func (q *program) done() {
	q.t.Helper()
	if !q.out.Scan() || q.out.Text() != "ok" {
		q.t.Fatalf("the program says %q %v", q.out.Text(), q.out.Err())
	}
}

// do sends the program an order and waits until it is carried out.
func (q *program) do(format string, args ...any) {
	q.t.Helper()
	q.order(format, args...)
	q.done()
}

// kill kills the program; a second time does nothing.
func (q *program) kill() {
	_ = q.cmd.Process.Kill()
	_ = q.cmd.Wait()
	q.in.Close()
}

// quit lets the program end as programs do.
func (q *program) quit() {
	q.t.Helper()
	q.in.Close()
	if err := q.cmd.Wait(); err != nil {
		q.t.Error(err)
	}
}

// measured is the program in Go.
type measured struct {
	apps    map[string]*arm.Application
	trans   map[string]*arm.Transaction
	running map[string]running
	held    []arm.Running
}

type running struct {
	arm.Running
	ctx context.Context // with its correlator
}

// The metrics of transactions that have some: one of each kind.
var (
	bytesMetric   = arm.NewCounter("bytes")
	queueMetric   = arm.NewGauge32("queue")
	loadMetric    = arm.NewGaugeRatio("load")
	errorMetric   = arm.NewNumericID32("error")
	secondsMetric = arm.NewCounterRatio("seconds")
	roomMetric    = arm.NewString8("room")
	whoMetric     = arm.NewString("who")
)

// values returns values for all metrics, derived from one number, or none for a negative
// number.
func values(n int) []arm.Value {
	if n < 0 {
		return nil
	}
	return []arm.Value{bytesMetric.Value(uint64(n) << 33), queueMetric.Value(int64(-n)), loadMetric.Value(int32(n), 4),
		errorMetric.Value(uint64(n)), secondsMetric.Value(uint32(n), 8), roomMetric.Value("room"), whoMetric.Value(fmt.Sprintf("guest %d", n))}
}

// obey carries out orders from standard input.
func obey() {
	m := measured{make(map[string]*arm.Application), make(map[string]*arm.Transaction), make(map[string]running), nil}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := m.order(strings.Fields(in.Text())); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("ok")
	}
}

func (m *measured) order(w []string) error {
	switch w[0] {
	case "init":
		m.apps[w[1]] = arm.NewApplication(w[1], arm.User("*"))
		return m.apps[w[1]].Err()
	case "tran":
		return m.name(w[1], len(w) > 2)
	case "do":
		return m.work(m.trans[w[1]], number(w[2]), arm.Status(number(w[3])), number(w[4]))
	case "start":
		return m.start(w[1], m.trans[w[2]], w[3:])
	case "stop":
		return done(m.running[w[1]].Stop(arm.Status(number(w[2])), values(optional(w, 3))...))
	case "update":
		return done(m.running[w[1]].Update(values(optional(w, 2))...))
	case "text":
		return done(m.running[w[1]].UpdateText(w[2]))
	case "sleep":
		r := m.trans[w[1]].Start(context.Background())
		time.Sleep(time.Duration(number(w[2])) * time.Millisecond)
		return done(r.Stop(arm.Good))
	case "bad": // with a value of a metric that the transaction does not have
		return done(m.trans[w[1]].Start(context.Background(), whoMetric.Value("nobody")).Stop(arm.Good))
	case "many":
		return m.many(m.apps[w[1]], number(w[2]))
	case "hold":
		return m.hold(m.trans[w[1]], number(w[2]))
	case "overflow":
		return m.hold(m.trans[w[1]], 0)
	case "release":
		return m.release(number(w[1]))
	case "end":
		return m.apps[w[1]].Close()
	}
	return fmt.Errorf("no order %q", w)
}

func (m *measured) name(full string, metrics bool) error {
	app, name, _ := strings.Cut(full, "/")
	var options []arm.TransactionOption
	if metrics {
		options = append(options, arm.Detail("with metrics"),
			arm.Metrics(bytesMetric, queueMetric, loadMetric, errorMetric, secondsMetric, roomMetric, whoMetric))
	}
	m.trans[full] = m.apps[app].Transaction(name, options...)
	return m.trans[full].Err()
}

// start takes the options n N, parent NAME and trace x.
func (m *measured) start(name string, t *arm.Transaction, options []string) error {
	ctx, n := context.Background(), -1
	for i := 0; i+1 < len(options); i += 2 {
		switch options[i] {
		case "n":
			n = number(options[i+1])
		case "parent":
			ctx = arm.ContextWithCorrelator(ctx, arm.CorrelatorFromContext(m.running[options[i+1]].ctx))
		default:
			ctx = arm.ContextWithTrace(ctx)
		}
	}
	ctx, r := t.StartContext(ctx, values(n)...)
	m.running[name] = running{r, ctx}
	return nil
}

// many names many transactions, and runs each of them once.
func (m *measured) many(app *arm.Application, count int) error {
	for i := range count {
		t := app.Transaction(fmt.Sprintf("t%d", i))
		if err := t.Err(); err != nil {
			return err
		}
		if err := done(t.Start(context.Background()).Stop(arm.Good)); err != nil {
			return err
		}
	}
	return nil
}

// hold starts transactions until count of them run, or, if count is 0, until there is no
// room.
func (m *measured) hold(t *arm.Transaction, count int) error {
	for count == 0 || len(m.held) < count {
		r := t.Start(context.Background())
		if !r.Update() { // it is not measured
			if count == 0 {
				return nil
			}
			return fmt.Errorf("no room after %d", len(m.held))
		}
		m.held = append(m.held, r)
	}
	return nil
}

// release stops them: the first count good, the others aborted.
func (m *measured) release(count int) error {
	for i, r := range m.held {
		status := arm.Good
		if i >= count {
			status = arm.Aborted
		}
		if err := done(r.Stop(status)); err != nil {
			return err
		}
	}
	m.held = nil
	return nil
}

// work starts and stops count transactions in each of so many threads.
func (m *measured) work(t *arm.Transaction, count int, status arm.Status, threads int) error {
	var wg sync.WaitGroup
	errs := make(chan error, threads)
	for range threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range count {
				if err := done(t.Start(context.Background()).Stop(status)); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	wg.Wait()
	close(errs)
	return <-errs
}

func done(ok bool) error {
	if !ok {
		return fmt.Errorf("refused")
	}
	return nil
}

// optional returns the number at a place of an order, or -1 if there is none.
func optional(w []string, at int) int {
	if at >= len(w) {
		return -1
	}
	return number(w[at])
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
