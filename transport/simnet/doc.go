// Package simnet is a network inside one goroutine: it decides for every
// message when it arrives, and whether it does. It keeps no clock and no queue
// of events of its own; the simulator hands in the time and keeps the packets
// that are under way in its one heap.
//
// What it owes is what transport.Network owes: messages on one connection keep
// their order, a connection may break at any time, what was under way then is
// lost or arrives late, and a message may be lost without anybody being told.
// Calls of clients are stricter, as over TCP: on one connection none is lost
// without the connection ending, and an answer comes over the connection of
// the call or not at all.
package simnet
