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
// memory: no lock, no allocation, no system call, but for a transaction's first start on a
// processor and for more than 64 that run at once on one, which may make room, and for one
// start a second, which reads what the agent asks to be traced. Counts are exact, and what
// had stopped is counted even if the program is killed.
//
// It is a guest in the program: it never waits, prints or fails. While there is no directory
// that it can write to, it counts in memory of the process alone, and Application.Err says
// why. When there is one, all of that is added to the process's file there. Names become keys: blanks are removed and 31 bytes are kept.
// Programs of one user, in Go or in C with libarm, that give the same names, users and
// metrics count in the same application and transaction.
//
// With INVOKE_ARM=false in the environment nothing is measured.
package arm
