package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-rtime/rtime/bench/agent/pipe"
	"github.com/pcp-rtime/rtime/pcp"
)

//go:embed cagent/agent.c
var cSource []byte

//go:embed script/agent.pl
var perlSource []byte

//go:embed script/agent.py
var pythonSource []byte

// peer is one of the agents that are compared.
type peer struct {
	name  string
	exact bool // the values are known and checked; else only their number is
	like  bool // a build of goagent, of which paced fetches are measured too

	argv func(limit int) []string // limit: the largest instance domain to fill
	env  []string

	// metrics lists what to fetch for a shape. It is empty if the agent does not have that
	// shape.
	metrics func(shape) []pcp.PMID
	// prepare makes an agent that runs ready for a shape; may be nil.
	prepare func(*pipe.Conn, shape) error
}

const (
	sampleDomain = 29
	mmvDomain    = 70
	reference    = "C"
	ours         = "Go"
)

// findPeers builds and writes the agents in dir. A peer that is not installed is left
// out with a note; our own and the C agent must be there.
func findPeers(dir string) (list []*peer, notes []string, err error) {
	goBin, cBin := filepath.Join(dir, "goagent"), filepath.Join(dir, "cagent")
	if err := run("go", "build", "-o", goBin, "github.com/pcp-rtime/rtime/bench/agent/goagent"); err != nil {
		return nil, nil, err
	}
	source := filepath.Join(dir, "agent.c")
	if err := os.WriteFile(source, cSource, 0o600); err != nil {
		return nil, nil, err
	}
	if err := run("cc", "-O2", "-o", cBin, source, "-lpcp_pmda", "-lpcp"); err != nil {
		return nil, nil, fmt.Errorf("%w (is libpcp-pmda3-dev installed?)", err)
	}
	list = []*peer{
		{name: reference, exact: true, metrics: own, argv: func(limit int) []string {
			return []string{cBin, "-l", "cagent.log", "-n", strconv.Itoa(limit)}
		}},
		goPeer(ours, goBin),
		{name: "C pmdaCache", exact: true, metrics: own, argv: func(limit int) []string {
			return []string{cBin, "-c", "-l", "ccache.log", "-n", strconv.Itoa(limit)}
		}},
	}
	for _, find := range []func(string) (*peer, error){samplePeer, mmvPeer, ddsPeer, perlPeer, pythonPeer} {
		p, err := find(dir)
		if err != nil {
			notes = append(notes, err.Error())
			continue
		}
		list = append(list, p)
	}
	return list, notes, nil
}

// goPeer is goagent, or another build of it.
func goPeer(name string, command ...string) *peer {
	return &peer{name: name, exact: true, like: true, metrics: own, argv: func(limit int) []string {
		options := []string{"-l", "-", "--state", "", "--limit", strconv.Itoa(limit)}
		return slices.Concat(command, options, asRoot())
	}}
}

// otherPeer is an agent that the command line names.
func otherPeer(arg string) *peer {
	name, command, _ := strings.Cut(arg, "=")
	words := strings.Fields(command)
	if path, err := exec.LookPath(words[0]); err == nil {
		words[0] = path
	}
	return goPeer(name, words...)
}

func own(s shape) []pcp.PMID { return s.metrics(domain) }

// asRoot keeps an agent root. As another user it could not write its log.
func asRoot() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	return []string{"-U", "root"}
}

// run runs a compiler. Agents are built as they are installed, without cgo.
func run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

func pmdaBinary(name string) (string, error) {
	for _, dir := range []string{os.Getenv("PCP_PMDAS_DIR"), "/var/lib/pcp/pmdas"} {
		path := filepath.Join(dir, name, "pmda"+name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("pmda%s is not installed and is left out", name)
}

// samplePeer is pmdasample: longlong.million, and many.int asked for eight times, a
// metric of 32 bits over as many instances as many.count says.
func samplePeer(string) (*peer, error) {
	bin, err := pmdaBinary("sample")
	if err != nil {
		return nil, err
	}
	return &peer{
		name: "pmdasample",
		argv: func(int) []string {
			return append([]string{bin, "-d", strconv.Itoa(sampleDomain), "-l", "sample.log"}, asRoot()...)
		},
		metrics: func(s shape) []pcp.PMID {
			if s.wanted > 0 {
				return nil
			}
			if s.insts == 0 {
				return []pcp.PMID{pcp.MakePMID(sampleDomain, 0, 23)}
			}
			list := make([]pcp.PMID, items)
			for i := range list {
				list[i] = pcp.MakePMID(sampleDomain, 0, 80)
			}
			return list
		},
		prepare: func(c *pipe.Conn, s shape) error {
			if s.insts == 0 {
				return nil
			}
			return c.Store(pcp.MakePMID(sampleDomain, 0, 79), int32(s.insts))
		},
	}, nil
}

// mmvPeer is pmdammv as a daemon, with files of our own. Clusters count from 1: those
// below belong to the agent itself.
func mmvPeer(dir string) (*peer, error) {
	bin, err := pmdaBinary("mmv")
	if err != nil {
		return nil, err
	}
	files := filepath.Join(dir, "tmp", "mmv")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return nil, err
	}
	for _, s := range shapes[:3] {
		n := items
		if s.insts == 0 {
			n = 1
		}
		if err := writeMMV(files, s.cluster()+1, n, s.insts); err != nil {
			return nil, err
		}
	}
	return &peer{
		name: "pmdammv", exact: true,
		env: []string{"PCP_TMP_DIR=" + filepath.Join(dir, "tmp")},
		argv: func(int) []string {
			return append([]string{bin, "-d", strconv.Itoa(mmvDomain), "-l", "mmv.log"}, asRoot()...)
		},
		metrics: func(s shape) []pcp.PMID {
			if s.insts > 1000 {
				return nil
			}
			list := s.metrics(mmvDomain)
			for i, p := range list {
				list[i] = pcp.MakePMID(mmvDomain, p.Cluster()+1, p.Item())
			}
			return list
		},
	}, nil
}

func perlPeer(dir string) (*peer, error) {
	if exec.Command("perl", "-MPCP::PMDA", "-e", "1").Run() != nil {
		return nil, errors.New("perl with PCP::PMDA is not installed and is left out")
	}
	return scriptPeer("perl", "perl", filepath.Join(dir, "agent.pl"), perlSource)
}

func pythonPeer(dir string) (*peer, error) {
	for _, bin := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(bin, "-c", "import pcp.pmda, cpmda").Run() == nil {
			return scriptPeer("python", bin, filepath.Join(dir, "agent.py"), pythonSource)
		}
	}
	return nil, errors.New("python3 with pcp.pmda is not installed and is left out")
}

func scriptPeer(name, interpreter, file string, source []byte) (*peer, error) {
	bin, err := exec.LookPath(interpreter)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, source, 0o600); err != nil {
		return nil, err
	}
	return &peer{name: name, exact: true, metrics: own, argv: func(limit int) []string {
		return []string{bin, file, strconv.Itoa(limit)}
	}}, nil
}
