// Probe measures the probing engines of pmdartlan against fping: CPU time per probe
// and the error of the response times shown. Run it as root from the top of the
// module; -h lists the flags.
//
// The program proper lies beside the engines, which only packages of the agent may
// import; this one runs it.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

const program = "github.com/pcp-rtime/rtime/pmdas/lan/internal/probe/probebench"

func main() {
	cmd := exec.Command("go", append([]string{"run", program}, os.Args[1:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/probe:", err)
		os.Exit(1)
	}
}
