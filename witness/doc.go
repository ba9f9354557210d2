// Package witness is what somebody who saw everything would tell of one run of
// a simulated cluster: what every node took in and gave out, what caused what,
// what disks confirmed, how replicas stood, what clients asked for and got.
// The simulator fills a Run when it is asked to; this package answers questions
// about it: what led to a row, what became of one record or of one commit. It
// knows nothing of how a run is made.
package witness
