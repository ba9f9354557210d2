package witness

import (
	"regexp"
	"strconv"
	"strings"
)

// Subject is what the failure is about; if its judge could not tell, the first
// partition, and the first group or transaction, that its sentence names, or the node.
func (r *Run) Subject() Subject {
	none := Subject{Offset: None}
	if r.Failure == nil {
		return none
	}
	s := r.Failure.Subject
	if s.Partition.Topic != 0 || s.Group != "" || s.Transactional != "" || s.Kept.Topic != 0 {
		return s
	}
	text := r.Failure.Sentence
	if _, stuck, ok := strings.Cut(text, " has not come to rest: "); ok {
		text, _, _ = strings.Cut(stuck, "; ") // the first is what it fails for
	}
	for _, place := range placeInText.FindAllString(text, -1) {
		if id, _, err := r.ParseRecord(place); err == nil {
			none.Partition = id
			break
		}
	}
	if m := groupInText.FindStringSubmatch(text); m != nil {
		none.Group = m[1]
		if ownerInText.MatchString(text) {
			none.Member = "any"
		}
	}
	if m := transactionInText.FindStringSubmatch(text); m != nil {
		none.Transactional = m[1]
	}
	if none.Partition.Topic != 0 || none.Group != "" || none.Transactional != "" {
		return none
	}
	none.Node = r.Failure.Place
	if m := nodeInText.FindStringSubmatch(text); m != nil && none.Node == 0 {
		id, _ := strconv.ParseInt(m[1], 10, 32)
		none.Node = NodeAt(int(id))
	}
	return none
}

var (
	placeInText = regexp.MustCompile(`[A-Za-z0-9_.-]+/[0-9]+`)
	groupInText = regexp.MustCompile(`group "([^"]+)"`)
	// What does not come to rest is told as "node 3 has that of "stage0-1", ...".
	transactionInText = regexp.MustCompile(`has that of "([^"]+)"`)
	ownerInText       = regexp.MustCompile(`has no owner: |hold one partition |holds what the coordinator `)
	nodeInText        = regexp.MustCompile(`\bnode ([0-9]+)\b`)
)
