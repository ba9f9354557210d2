// Package archtest holds the house to its plan: who may import whom, what the
// pure core may use, and how large files and functions may grow. It has tests
// only; a failure names the rule, the place and what to do instead.
package archtest
