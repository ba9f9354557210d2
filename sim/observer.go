package sim

import "github.com/tamarack-mq/tamarack/core/effect"

// Observer enforces one invariant over all nodes while a run goes on. It is
// told of every step of every node right after it, before any effect of that
// step is carried out, and looks only at what the step could have changed.
type Observer interface {
	// Invariant is the name of what it enforces: "INV-5".
	Invariant() string
	// Started is called when a node has recovered and before its first step.
	Started(w *World, n *Node, found *effect.Recovered)
	// Stepped is called after a node took in and gave out.
	Stepped(w *World, n *Node, in effect.Input, out []effect.Effect)
	// Rested is called once, when the cluster ought to have come to rest.
	Rested(w *World)
}

// World is one run: its clock, its events, its nodes and clients.
type World struct{}

// Node is one node of the simulated cluster with its disk and its clock.
type Node struct{}
