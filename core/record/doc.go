// Package record is record batches in Kafka's format v2 (magic 2) as pure
// bytes: building, checking, stamping and walking over them, and the numbers
// that logs are counted in. A batch travels and rests in this one form; its
// payload is never taken apart by a broker.
package record
