// Package spmi lets a running program supply statistics. It is the dynamic data supplier of the
// System Performance Measurement Interface, in Go. The agent dds exports the statistics as PCP
// metrics.
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
// The package does not disturb its program. It never waits for a consumer. If statistics cannot
// be published, it works on private memory, and Supplier.Err says so.
//
// Names, limits, checks and error numbers are those of the Performance Toolbox guide, "Using
// SPMI to Create a Dynamic Data Supplier". The path of a fixed context belongs to the first
// supplier that claims it, in whatever language, until that supplier closes or dies. Suppliers
// of root and of the PCP user ignore the claims of others. A supplier does not claim volatile
// contexts below its own contexts. If another supplier adds one of the same path there, neither
// is told of it, and the agent shows the one that it saw first.
// first.
package spmi
