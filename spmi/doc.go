// Package spmi lets a program supply statistics while it runs: the dynamic data
// supplier of the System Performance Measurement Interface, in Go. The agent dds
// exports them as PCP metrics.
//
// Statistics live in contexts, whose paths begin with DDS and a vendor. Open publishes
// fixed contexts; Supplier.Add and Remove publish and withdraw volatile ones at any
// time. Each statistic is a handle, such as a Counter, that the program stores into:
// one atomic operation on shared memory, without a system call, an allocation or a lock.
//
//	var made struct {
//		Gadgets spmi.Counter `descr:"Gadgets made"`
//		Queue   spmi.Gauge   `descr:"Orders waiting"`
//	}
//	s, err := spmi.Open(spmi.Options{Vendor: "DDS/IBM"}, &spmi.Context{Path: "Test", Values: &made})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	made.Gadgets.Inc()
//
// It is a guest in the program: it never waits for a consumer, and where statistics
// cannot be published it works on private memory and says so when asked.
//
// Names, limits, checks and error numbers are those of the Performance Toolbox guide,
// "Using SPMI to Create a Dynamic Data Supplier". The path of a fixed context belongs to
// the first supplier that claims it, in whatever language, until that supplier closes or
// dies. Suppliers of root and of the PCP user pass over the claims of others.
// Volatile contexts below one of the supplier's own are not claimed. If another supplier
// adds one of the same path there, neither is told, and the agent shows the one that it saw
// first.
package spmi
