// Package arm lets a program measure the response time of its transactions, by the
// Application Response Measurement API 2.0 in Go's terms. The agent rtarm exports what
// is measured as PCP metrics, rtime.arm.*.
//
// A program names its applications and their transactions once, and marks the start and
// the stop of each execution:
//
//	app := arm.NewApplication("Checking Account Query")
//	query := app.Transaction("Last Check Query")
//
//	lastCheck := func(ctx context.Context) error {
//		running := query.Start(ctx)
//		err := ask(ctx)
//		running.Stop(arm.StatusOf(err))
//		return err
//	}
//
// A start and a stop cost two readings of the clock and a few atomic additions in shared
// memory: no lock, no allocation, no system call. There are three exceptions. A
// transaction's first start on a processor may make room. So may a start when more than 64
// executions run at once on one processor. And one start a second reads what the agent asks
// to be traced. Counts are exact, and what had stopped is counted even if the program is
// killed.
//
// The package is a guest in the program: it never waits, prints or fails. While there is no
// directory that it can write to, it counts in the process's own memory, and
// Application.Err says why. Once there is one, all these counts are added to the process's
// file there.
//
// Names become keys: blanks are removed and 31 bytes are kept. Programs of one user, in Go
// or in C with libarm, that give the same names, users and metrics count in the same
// application and transaction.
//
// With INVOKE_ARM=false in the environment nothing is measured.
package arm
