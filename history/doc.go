// Package history holds what the clients of a cluster did and saw: operations
// with the time of the call, the time of the answer, and an outcome that may
// stay unknown. Recorders of simulated and of real clusters fill it, and the
// judges of package models read it. It speaks plain numbers and strings only,
// so that no idea of the code under test can slip into a judgement.
package history
