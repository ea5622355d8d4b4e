package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/pcp-rtime/rtime/bench/agent/pipe"
	"github.com/pcp-rtime/rtime/pcp"
	"github.com/pcp-rtime/rtime/pdu"
	"github.com/pcp-rtime/rtime/spmi"
)

// viewer is a client of an agent, which runs over a pipe: it looks at one metric.
type viewer struct {
	*pipe.Conn
	pmid  pcp.PMID
	indom pcp.InDom
}

// view starts an agent and looks for the metric.
func view(dir string, argv, env []string, find func(*pipe.Conn) (pcp.PMID, error)) (*viewer, error) {
	c, err := pipe.Start(argv, env, dir)
	if err != nil {
		return nil, err
	}
	v := &viewer{Conn: c}
	if v.pmid, err = find(c); err == nil {
		var d pdu.Desc
		err = c.Exchange(&pdu.DescReq{PMID: v.pmid}, &d)
		v.indom = d.Desc.InDom
	}
	if err != nil {
		c.Stop()
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	return v, nil
}

// sees asks for an instance by its name, and for its value.
func (v *viewer) sees(name string) (bool, error) {
	var got pdu.Instance
	err := v.Exchange(&pdu.InstanceReq{InDom: v.indom, Inst: pcp.InstNull, Name: name}, &got)
	if errors.Is(err, pcp.ErrInst) {
		return false, nil
	}
	if err != nil || len(got.Instances) != 1 {
		return false, fmt.Errorf("instance %s: %v %w", name, got.Instances, err)
	}
	err = v.Profile(&pdu.Profile{Default: pdu.Exclude, InDoms: []pdu.InDomProfile{
		{InDom: v.indom, State: pdu.Exclude, List: []int32{got.Instances[0].ID}}}})
	var res pdu.Result
	if err == nil {
		err = v.Exchange(&pdu.Fetch{PMIDs: []pcp.PMID{v.pmid}}, &res)
	}
	return err == nil && len(res.Sets) == 1 && len(res.Sets[0].Values) == 1, err
}

// until asks until the instance is there, or is not.
func (v *viewer) until(name string, want bool) error {
	for end := time.Now().Add(30 * time.Second); ; {
		got, err := v.sees(name)
		if err != nil || got == want {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: %v for 30 s", name, got)
		}
	}
}

// shown measures how long it takes from adding a context until the agent shows its value,
// and from removing the context until the agent does not show it any more.
func (p *programs) shown(t *table) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unpin, err := pipe.Pin()
	if err != nil {
		return err
	}
	defer unpin()
	for _, present := range sizes {
		us, err := p.ddsShows(present)
		if err != nil {
			return err
		}
		t.add(fmt.Sprintf("dds, at %d present", present), us)
		if us, err = p.mmvShows(present); err != nil {
			return err
		}
		t.add(fmt.Sprintf("MMV file of %d", present), us)
	}
	return nil
}

// ddsShows returns the microseconds that the agent dds takes for it.
func (p *programs) ddsShows(present int) (float64, error) {
	s, err := p.fill(present)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	config := filepath.Join(p.dir, "dds.conf")
	if err := os.WriteFile(config, []byte("maxmemory 1000000000\n"), 0o644); err != nil {
		return 0, err
	}
	argv := []string{p.agent, "--dir", p.dir, "--state", p.dir, "--config", config, "-l", filepath.Join(p.dir, "log"), "-U", "root"}
	v, err := view(p.dir, argv, nil, func(c *pipe.Conn) (pcp.PMID, error) {
		var got pdu.IDs
		err := c.Exchange(&pdu.Names{Names: []string{"dds.Bench.All.problems"}}, &got)
		if err != nil {
			return 0, err
		}
		return got.PMIDs[0], nil
	})
	if err != nil {
		return 0, err
	}
	defer v.Stop()
	one := &spmi.Context{Path: "DDS/Bench/All/one", Values: &instance{}}
	return v.turns(300, present, "one", func(there bool) (time.Duration, error) {
		begin := time.Now()
		if there {
			err = s.Add(one)
		} else {
			err = s.Remove(one)
		}
		return time.Since(begin), err
	})
}

// mmvShows returns the microseconds that pmdammv takes, with a file that is written anew.
func (p *programs) mmvShows(present int) (float64, error) {
	w, err := p.startWriter(present)
	if err != nil {
		return 0, err
	}
	defer w.stop()
	const domain, cluster, item = 70, 4001, 1
	v, err := view(p.dir, []string{p.pmdammv, "-d", strconv.Itoa(domain), "-l", filepath.Join(p.dir, "mmv.log"), "-U", "root"},
		[]string{"PCP_TMP_DIR=" + p.dir}, func(*pipe.Conn) (pcp.PMID, error) { return pcp.MakePMID(domain, cluster, item), nil })
	if err != nil {
		return 0, err
	}
	defer v.Stop()
	return v.turns(max(3, 3000/present), present, "c"+strconv.Itoa(present), func(bool) (time.Duration, error) { return w.turn() })
}

// turns waits until the agent shows what is present, and then makes an instance come and go
// n times. It returns the microseconds for both together.
func (v *viewer) turns(n, present int, name string, turn func(there bool) (time.Duration, error)) (float64, error) {
	if err := v.until("c"+strconv.Itoa(present-1), true); err != nil {
		return 0, err
	}
	var sum time.Duration
	for range n {
		for _, there := range []bool{true, false} {
			took, err := turn(there)
			begin := time.Now()
			if err == nil {
				err = v.until(name, there)
			}
			if err != nil {
				return 0, err
			}
			sum += took + time.Since(begin)
		}
	}
	return float64(sum) / float64(n) / 1e3, nil
}

// writer is a program that writes an MMV file anew whenever it is told to.
type writer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func (p *programs) startWriter(present int) (*writer, error) {
	w := &writer{cmd: exec.Command(p.mmv, "turn", strconv.Itoa(present))}
	w.cmd.Env = append(os.Environ(), "PCP_TMP_DIR="+p.dir)
	w.cmd.Stderr = os.Stderr
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewScanner(out)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	if !w.out.Scan() {
		w.stop()
		return nil, errors.New("no MMV file")
	}
	return w, nil
}

// turn returns how long the writing took, without the way to the program and back.
func (w *writer) turn() (time.Duration, error) {
	if _, err := w.in.Write([]byte("\n")); err != nil {
		return 0, err
	}
	if !w.out.Scan() {
		return 0, errors.New("the program that writes MMV files has ended")
	}
	ns, err := strconv.ParseInt(w.out.Text(), 10, 64)
	return time.Duration(ns), err
}

func (w *writer) stop() {
	w.in.Close()
	_ = w.cmd.Wait()
}
