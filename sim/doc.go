// Package sim runs a whole cluster, its clients, its disks and its network on
// one goroutine under a virtual clock. It is a driver of the core like the real
// one: it carries out effects and hands completions back, and decides nothing
// about the protocol. What it adds are faults, judges and a trace.
//
// A seed becomes a Plan (NewPlan), which is plain data. Run plays a plan and
// returns a Result: a hash over every event, the first broken invariant if
// any, figures and marks. The same plan gives the same hash on any machine.
package sim
